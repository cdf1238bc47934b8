#!/usr/bin/env python3
"""Opens every series (.pvd, .vtu) of a folder with VTK's own reader and compares it, number by number, with
the plain text beside it. Usage: check_vtu.py DIR. Exit 0: equal; 1: not; 77: VTK is not installed.

NAME.pvd has NAME.times beside it, one time a line, and each NAME_0000.vtu a NAME_0000.expected: blocks of
"array WHERE NAME COMPONENTS TUPLES" and one tuple a line; WHERE is points, point, cell or topology."""
import glob
import os
import sys
import xml.etree.ElementTree as ElementTree

try:
    import vtk
except ImportError as missing:
    print(f"check_vtu.py: {missing}", file=sys.stderr)
    sys.exit(77)

# Numbers of VTK's array classes by the type that the file promises.
TYPES = {"displacement": "double", "reaction_force": "double", "nodal_stress": "double",
         "stress": "double", "plastic_strain": "double", "strain": "double", "point_stress": "double",
         "von_mises": "double", "von_mises_max": "double", "peeq": "double", "peeq_max": "double", "node_tag": "integer",
         "element_tag": "integer", "physical_group": "integer", "rank": "integer"}


def fail(text):
    print(f"check_vtu.py: {text}", file=sys.stderr)
    sys.exit(1)


def read_expected(path):
    arrays = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            _, where, name, components, tuples = line.split()
            arrays[where, name] = [tuple(float(v) for v in next(lines).split()) for _ in range(int(tuples))]
            if any(len(t) != int(components) for t in arrays[where, name]):
                fail(f"{path}: {name} is not {components} wide")
    return arrays


def tuples_of(array):
    return [array.GetTuple(i) for i in range(array.GetNumberOfTuples())]


def open_grid(path):
    errors = []
    reader = vtk.vtkXMLUnstructuredGridReader()
    for source in (reader, reader.GetExecutive()):
        source.AddObserver("ErrorEvent", lambda *_: errors.append("error"))
        source.AddObserver("WarningEvent", lambda *_: errors.append("warning"))
    reader.SetFileName(path)
    reader.Update()
    if errors:
        fail(f"{path}: the reader reports an {errors[0]}")
    return reader.GetOutput()


def found_arrays(grid):
    arrays = {("points", "xyz"): tuples_of(grid.GetPoints().GetData())}
    for where, data in (("point", grid.GetPointData()), ("cell", grid.GetCellData())):
        for i in range(data.GetNumberOfArrays()):
            array = data.GetArray(i)
            name = array.GetName()
            is_integer = array.GetDataType() not in (vtk.VTK_FLOAT, vtk.VTK_DOUBLE)
            if is_integer != (TYPES.get(name) == "integer"):
                fail(f"{name} has type {array.GetDataTypeAsString()}")
            arrays[where, name] = tuples_of(array)
    cells = [grid.GetCell(i) for i in range(grid.GetNumberOfCells())]
    arrays["topology", "types"] = [(grid.GetCellType(i),) for i in range(len(cells))]
    arrays["topology", "connectivity"] = [
        tuple(ids.GetId(a) for a in range(ids.GetNumberOfIds()))
        for ids in (grid.GetCell(i).GetPointIds() for i in range(len(cells)))]
    return arrays


def check_straight(path, grid):
    """Each node of a straight element lies where VTK's reference element has it between the vertices."""
    for i in range(grid.GetNumberOfCells()):
        cell = grid.GetCell(i)
        n, place = cell.GetNumberOfPoints(), cell.GetParametricCoords()
        x = [cell.GetPoints().GetPoint(a) for a in range(n)]
        for a in range(n):
            r, s, t = place[3 * a:3 * a + 3]
            if cell.GetCellType() in (vtk.VTK_TETRA, vtk.VTK_QUADRATIC_TETRA):
                weight = [1 - r - s - t, r, s, t]
            else:
                weight = [(r if v in (1, 2, 5, 6) else 1 - r) * (s if v in (2, 3, 6, 7) else 1 - s) *
                          (t if v > 3 else 1 - t) for v in range(8)]
            for axis in range(3):
                if abs(sum(w * x[v][axis] for v, w in enumerate(weight)) - x[a][axis]) > 1e-14:
                    fail(f"{path}: cell {i}: node {a} is not at {place[3 * a:3 * a + 3]}")


def check_step(path):
    ElementTree.parse(path)  # strict XML, too
    grid = open_grid(path)
    expected, found = read_expected(path[:-4] + ".expected"), found_arrays(grid)
    if os.path.basename(path).startswith("one_"):
        check_straight(path, grid)
    if set(expected) != set(found):
        fail(f"{path}: arrays {sorted(found)}, expected {sorted(expected)}")
    for key, values in expected.items():
        if len(values) != len(found[key]):
            fail(f"{path}: {key} has {len(found[key])} tuples, expected {len(values)}")
        for i, (want, got) in enumerate(zip(values, found[key])):
            if tuple(want) != tuple(got):
                fail(f"{path}: {key}[{i}] is {got}, expected {want}")


def check_series(pvd):
    folder = os.path.dirname(pvd)
    with open(pvd[:-4] + ".times", encoding="utf-8") as lines:
        times = [float(line) for line in lines]
    sets = ElementTree.parse(pvd).getroot().find("Collection").findall("DataSet")
    if [float(s.get("timestep")) for s in sets] != times:
        fail(f"{pvd}: time steps {[s.get('timestep') for s in sets]}, expected {times}")
    for s in sets:
        if os.path.isabs(s.get("file")) or s.get("part") != "0":
            fail(f"{pvd}: {s.attrib}")
        check_step(os.path.join(folder, s.get("file")))
    return len(sets)


def main():
    if len(sys.argv) != 2:
        fail("usage: check_vtu.py DIR")
    series = sorted(glob.glob(os.path.join(sys.argv[1], "*.pvd")))
    if not series or not all(check_series(pvd) for pvd in series):
        fail(f"{sys.argv[1]}: nothing to check")


main()
