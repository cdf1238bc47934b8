#!/usr/bin/python3
"""Draws a load step of a .pvd series (or one .vtu) as a PNG: the deformed part coloured by a field.

Needs VTK's Python modules (Debian: python3-vtk9, run with /usr/bin/python3; or `pip install vtk`). No screen
is needed: where DISPLAY is not set, the script starts itself again under xvfb-run (Debian: xvfb, xauth), as
Debian's VTK draws through X only. A VTK that draws through EGL or OSMesa is asked for with --no-xvfb.

  python3 plots/render.py out/bracket.pvd --scale 10 -o bracket.png
  python3 plots/render.py --pair out/tet4.pvd out/hex8.pvd --scale 10 --titles Tet4 Hex8 -o pair.png
"""
import argparse
import importlib.util
import math
import os
import shutil
import sys
import xml.etree.ElementTree as xml

TITLES = {
    "peeq": "equivalent plastic strain (element mean)",
    "peeq_max": "equivalent plastic strain (largest in the element)",
    "von_mises": "von Mises stress",
    "displacement": "displacement magnitude",
    "reaction_force": "reaction force magnitude",
    "rank": "rank",
}
INK = (0.13, 0.13, 0.13)
FINER = 2  # drawn this many times larger and averaged down: smooth lines with any driver


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("series", nargs="*", metavar="FILE", help=".pvd or .vtu")
    parser.add_argument("--pair", nargs=2, metavar="FILE", help="two files side by side, one colour scale")
    parser.add_argument("-o", dest="picture", required=True, metavar="PICTURE.png")
    parser.add_argument("--field", default="peeq", help="cell or point array (peeq); vectors by magnitude")
    parser.add_argument("--step", type=int, default=-1, metavar="N",
                        help="place in the .pvd, 0 is the first, -1 (default) the last")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="displacements are drawn this many times (1)")
    parser.add_argument("--range", nargs=2, type=float, metavar=("LOW", "HIGH"),
                        help="ends of the colour scale")
    parser.add_argument("--title", help="title of the colour bar")
    parser.add_argument("--titles", nargs="+", default=[], metavar="TEXT", help="a caption for each part")
    parser.add_argument("--compare-undeformed", action="store_true", help="outline of the undeformed part")
    parser.add_argument("--no-edges", action="store_true", help="leave the element edges out")
    parser.add_argument("--view", nargs=3, type=float, default=(0.55, 0.42, 1.0), metavar=("X", "Y", "Z"),
                        help="direction from the part to the eye (0.55 0.42 1)")
    parser.add_argument("--up", nargs=3, type=float, default=(0, 1, 0), metavar=("X", "Y", "Z"))
    parser.add_argument("--size", nargs=2, type=int, default=(1600, 1200), metavar=("W", "H"), help="pixels")
    parser.add_argument("--no-xvfb", action="store_true", help="do not start under xvfb-run")
    options = parser.parse_args()
    if (len(options.series) == 1) == bool(options.pair) or len(options.series) > 1:
        parser.error("give one FILE, or --pair with two")
    options.series = options.pair or options.series
    if not options.picture.endswith(".png"):
        parser.error(f"-o {options.picture}: the name must end in .png")
    return options


def refuse(message):
    print(f"render.py: {message}", file=sys.stderr)
    sys.exit(2)


def start_under_xvfb():
    """Does not return where xvfb-run is found."""
    runner = shutil.which("xvfb-run")
    if runner is None:
        refuse("DISPLAY is not set and xvfb-run is missing (Debian: apt-get install xvfb xauth); "
               "try --no-xvfb if this VTK draws without X")
    script = [sys.executable, os.path.abspath(__file__), *sys.argv[1:], "--no-xvfb"]
    os.execv(runner, [runner, "--auto-servernum", "--server-args=-screen 0 1280x1024x24", *script])


def step_file(path, step):
    """The .vtu of a step; a lone .vtu is its own."""
    if not path.endswith(".pvd"):
        return path
    try:
        sets = [(float(s.get("timestep")), s.get("file")) for s in xml.parse(path).getroot().iter("DataSet")]
    except (OSError, xml.ParseError, TypeError, ValueError) as error:
        refuse(f"{path}: {error}")
    if not -len(sets) <= step < len(sets):
        refuse(f"{path}: no step {step}, the series has {len(sets)}")
    return os.path.join(os.path.dirname(path), sorted(sets)[step][1])


def read_grid(path, field):
    """The unstructured grid, and which of its data has the field: "cell" or "point"."""
    if not os.path.isfile(path):
        refuse(f"{path}: no such file")
    reader = vtk.vtkXMLUnstructuredGridReader()
    reader.SetFileName(path)
    reader.Update()
    grid = reader.GetOutput()
    if grid.GetNumberOfCells() == 0:
        refuse(f"{path}: holds no cells")
    if grid.GetPointData().GetArray("displacement") is None:
        refuse(f"{path}: no point array 'displacement'")
    for where, data in (("cell", grid.GetCellData()), ("point", grid.GetPointData())):
        if data.GetArray(field):
            return grid, where
    names = [d.GetArrayName(i) for d in (grid.GetCellData(), grid.GetPointData())
             for i in range(d.GetNumberOfArrays())]
    refuse(f"{path}: no array '{field}'; it has {', '.join(names)}")


def surface_of(grid):
    skin = vtk.vtkGeometryFilter()
    skin.SetInputData(grid)
    skin.Update()
    return skin.GetOutput()


def warped(surface, scale):
    surface.GetPointData().SetActiveVectors("displacement")
    warp = vtk.vtkWarpVector()
    warp.SetInputData(surface)
    warp.SetScaleFactor(scale)
    warp.Update()
    return warp.GetOutput()


def colour_table(low, high):
    """Grey at the low end, then light yellow to dark red to near black; reads well without colour, too."""
    stops = [(0.00, (0.90, 0.91, 0.92)), (0.04, (1.00, 0.95, 0.70)), (0.20, (0.99, 0.80, 0.36)),
             (0.40, (0.97, 0.55, 0.22)), (0.60, (0.86, 0.28, 0.16)), (0.80, (0.61, 0.09, 0.20)),
             (1.00, (0.28, 0.02, 0.20))]
    function = vtk.vtkColorTransferFunction()
    function.SetColorSpaceToLab()
    for at, colour in stops:
        function.AddRGBPoint(at, *colour)
    table = vtk.vtkLookupTable()
    table.SetNumberOfTableValues(256)
    table.SetTableRange(low, high)
    table.SetVectorModeToMagnitude()
    for i in range(256):
        table.SetTableValue(i, *function.GetColor(i / 255), 1)
    return table


def coloured_part(surface, where, field, table):
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputData(surface)
    mapper.SetLookupTable(table)
    mapper.UseLookupTableScalarRangeOn()
    mapper.InterpolateScalarsBeforeMappingOn()
    mapper.SetScalarMode({"cell": vtk.VTK_SCALAR_MODE_USE_CELL_FIELD_DATA,
                          "point": vtk.VTK_SCALAR_MODE_USE_POINT_FIELD_DATA}[where])
    mapper.SelectColorArray(field)
    mapper.SetResolveCoincidentTopologyToPolygonOffset()
    mapper.SetRelativeCoincidentTopologyPolygonOffsetParameters(3, 3)  # faces step back behind the edges
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    look = actor.GetProperty()
    look.SetInterpolationToFlat()
    look.SetAmbient(0.60)
    look.SetDiffuse(0.42)
    look.SetSpecular(0.0)
    return actor


def lines(surface, colour, width, opacity=1.0, features_only=False):
    """All element edges of a surface, or only its sharp ones."""
    if features_only:
        edges = vtk.vtkFeatureEdges()
        edges.SetFeatureAngle(60)
        edges.ColoringOff()
        edges.ManifoldEdgesOff()
        edges.NonManifoldEdgesOff()
    else:
        edges = vtk.vtkExtractEdges()
    edges.SetInputData(surface)
    mapper = vtk.vtkPolyDataMapper()
    mapper.SetInputConnection(edges.GetOutputPort())
    mapper.ScalarVisibilityOff()
    actor = vtk.vtkActor()
    actor.SetMapper(mapper)
    look = actor.GetProperty()
    look.SetColor(colour)
    look.SetLineWidth(width)
    look.SetOpacity(opacity)
    look.LightingOff()
    return actor


def text_style(style, size, bold=False):
    style.SetFontFamilyToArial()
    style.SetFontSize(size)
    style.SetColor(INK)
    style.SetBold(bold)
    style.SetItalic(False)
    style.SetShadow(False)


def caption(text, size, x, y):
    actor = vtk.vtkTextActor()
    actor.SetInput(text)
    text_style(actor.GetTextProperty(), size)
    actor.GetTextProperty().SetJustificationToCentered()
    actor.GetPositionCoordinate().SetCoordinateSystemToNormalizedViewport()
    actor.SetPosition(x, y)
    return actor


def colour_bar(table, labels, pixel):
    """Across the middle of its own strip of the window, labels below."""
    bar = vtk.vtkScalarBarActor()
    bar.SetLookupTable(table)
    bar.SetOrientationToHorizontal()
    bar.SetMaximumNumberOfColors(256)
    bar.SetNumberOfLabels(labels)
    bar.SetLabelFormat("%-.4g")
    bar.SetTextPositionToPrecedeScalarBar()
    bar.UnconstrainedFontSizeOn()
    text_style(bar.GetLabelTextProperty(), round(28 * pixel))
    bar.GetPositionCoordinate().SetValue(0.2, 0.12)
    bar.SetWidth(0.6)
    bar.SetHeight(0.48)
    bar.SetBarRatio(0.45)
    return bar


def aim(camera, bounds, direction, up, aspect):
    """Parallel projection along `direction` that holds the box `bounds` with a margin of 6 %."""
    centre = [0.5 * (bounds[2 * i] + bounds[2 * i + 1]) for i in range(3)]
    reach = max(bounds[2 * i + 1] - bounds[2 * i] for i in range(3)) * 4
    length = sum(d * d for d in direction) ** 0.5
    camera.ParallelProjectionOn()
    camera.SetFocalPoint(centre)
    camera.SetPosition([c + reach * d / length for c, d in zip(centre, direction)])
    camera.SetViewUp(up)
    camera.OrthogonalizeViewUp()
    view = camera.GetViewTransformMatrix()
    corners = [view.MultiplyPoint((bounds[i & 1], bounds[2 + (i >> 1 & 1)], bounds[4 + (i >> 2)], 1))
               for i in range(8)]
    width = max(abs(c[0]) for c in corners)
    height = max(abs(c[1]) for c in corners)
    camera.SetParallelScale(1.06 * max(height, width / aspect))


def union(boxes):
    return [min(b[i] for b in boxes) if i % 2 == 0 else max(b[i] for b in boxes) for i in range(6)]


def colour_range(options, ranges):
    """Ends of the scale, and how many labels: round numbers 1, 2, 2.5 or 5 × 10^k apart around the values."""
    if options.range:
        return *options.range, 6
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    if low > 0 and low < 0.5 * high:
        low = 0
    if not high > low:
        return low, low + 1, 2
    raw = (high - low) / 6
    power = 10 ** math.floor(math.log10(raw))
    gap = power * next(m for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / gap + 1e-9), math.ceil(high / gap - 1e-9)
    return first * gap, last * gap, last - first + 1


def part_view(options, skin, deformed, where, table, title, pixel):
    view = vtk.vtkRenderer()
    view.SetBackground(1, 1, 1)
    view.AddActor(coloured_part(deformed, where, options.field, table))
    if not options.no_edges:
        view.AddActor(lines(deformed, INK, 0.8 * pixel, 0.35))
    view.AddActor(lines(deformed, INK, 1.8 * pixel, features_only=True))
    if options.compare_undeformed:
        view.AddActor(lines(skin, (0.35, 0.45, 0.60), 1.6 * pixel, features_only=True))
    if title:
        view.AddActor(caption(title, round(32 * pixel), 0.5, 0.02))
    return view


def scale_view(title, table, labels, pixel):
    view = vtk.vtkRenderer()
    view.SetBackground(1, 1, 1)
    view.AddActor(colour_bar(table, labels, pixel))
    view.AddActor(caption(title, round(32 * pixel), 0.5, 0.68))
    return view


def draw(options):
    parts = []
    for path in options.series:
        grid, where = read_grid(step_file(path, options.step), options.field)
        skin = surface_of(grid)
        array = (grid.GetCellData() if where == "cell" else grid.GetPointData()).GetArray(options.field)
        values = array.GetRange(0 if array.GetNumberOfComponents() == 1 else -1)  # -1: magnitude
        parts.append((skin, warped(skin, options.scale), where, values))
    low, high, labels = colour_range(options, [values for *_, values in parts])
    table = colour_table(low, high)
    bounds = union([b for skin, deformed, *_ in parts for b in (skin.GetBounds(), deformed.GetBounds())])

    window = vtk.vtkRenderWindow()
    window.SetOffScreenRendering(1)
    window.SetMultiSamples(4)
    window.SetSize(*[FINER * pixels for pixels in options.size])
    pixel = FINER * options.size[1] / 1200
    strip = 0.13
    aspect = options.size[0] / len(parts) / (options.size[1] * (1 - strip))
    for i, (skin, deformed, where, _) in enumerate(parts):
        title = options.titles[i] if i < len(options.titles) else None
        view = part_view(options, skin, deformed, where, table, title, pixel)
        view.SetViewport(i / len(parts), strip, (i + 1) / len(parts), 1)
        window.AddRenderer(view)
        aim(view.GetActiveCamera(), bounds, options.view, options.up, aspect)
        view.ResetCameraClippingRange()
    foot = scale_view(options.title or TITLES.get(options.field, options.field), table, labels, pixel)
    foot.SetViewport(0, 0, 1, strip)
    window.AddRenderer(foot)
    window.Render()
    save(window, options.picture)
    print(f"{options.picture}: {options.field} from {low:.4g} to {high:.4g}, "
          f"displacements x {options.scale:g}")


def save(window, file):
    picture = vtk.vtkWindowToImageFilter()
    picture.SetInput(window)
    picture.ReadFrontBufferOff()
    smaller = vtk.vtkImageShrink3D()
    smaller.SetInputConnection(picture.GetOutputPort())
    smaller.SetShrinkFactors(FINER, FINER, 1)
    smaller.MeanOn()
    writer = vtk.vtkPNGWriter()
    writer.SetFileName(file)
    writer.SetInputConnection(smaller.GetOutputPort())
    writer.Write()
    if writer.GetErrorCode():
        sys.exit(f"render.py: {file}: cannot be written")


if __name__ == "__main__":
    arguments_given = arguments()
    if importlib.util.find_spec("vtkmodules") is None:
        refuse("no module vtkmodules; install python3-vtk9 and run with /usr/bin/python3, or pip install vtk")
    if not os.environ.get("DISPLAY") and not arguments_given.no_xvfb:
        start_under_xvfb()
    import vtkmodules.all as vtk
    draw(arguments_given)
