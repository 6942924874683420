"""Diagrams of layouts: what each kind of parallelism cuts, and how a layout stands on a cluster."""
from ..components.picture import Sheet
from ..components.yours import Yours

_COLORS = "abcd"
# Kinds of parallelism: name, what it cuts, and the color of a matrix column and layer of a model by the GPU that holds it.
_CUTS = (("data parallel", "the batch: whole copies", lambda column, layer: 0),
         ("tensor parallel", "every matrix", lambda column, layer: column),
         ("pipeline parallel", "the layers", lambda column, layer: layer),
         ("context parallel", "every sequence", lambda column, layer: 0))


def cuts_picture():
    """A model of four layers and its tokens, cut over four GPUs in four ways; a color is a GPU."""
    sheet = Sheet(282)
    for place, (name, what, holder) in enumerate(_CUTS):
        x, y = place % 2 * 206, place // 2 * 134
        sheet.text(x + 4, y + 14, name, bold=True).text(x + 4, y + 30, what, color="soft", size=12)
        if name == "data parallel":
            for copy in range(4):
                _model(sheet, x + 4 + 48 * copy, y + 40, 10, lambda column, layer, copy=copy: copy)
                sheet.box(x + 4 + 48 * copy, y + 106, 39, 12, _COLORS[copy], round=0)
        elif name == "context parallel":
            for piece in range(4):
                _model(sheet, x + 4 + 48 * piece, y + 40, 10, lambda column, layer, piece=piece: piece)
                sheet.box(x + 4 + 48 * piece, y + 106, 48 if piece < 3 else 39, 12, _COLORS[piece], round=0)
        else:
            _model(sheet, x + 4, y + 40, 46, holder)
            sheet.box(x + 4, y + 106, 183, 12, "line", round=0)
    sheet.text(4, 274, "below each model: the tokens that pass it", color="soft", size=12)
    return sheet.picture("Four ways to cut one job over four GPUs",
                         "A model of four layers over its tokens; a color is a GPU. Data parallel: four copies, each with its "
                         "own sequences. Tensor parallel: each GPU holds a column of every matrix. Pipeline parallel: each holds "
                         "a layer. Context parallel: four copies that share one sequence.")


def _model(sheet, x, y, side, holder):
    """Four layers of four columns, each in the color of the GPU that holds it."""
    for layer in range(4):
        for column in range(4):
            sheet.box(x + column * side, y + layer * 15, side - 1, 13, _COLORS[holder(column, layer)], round=1)


def cluster_picture(case):
    """A layout on its nodes: the tensor-parallel group, the stages of a pipeline, the replicas."""
    yours, node = Yours(case), int(case.inputs["gpus_per_node"])
    sheet = Sheet(196)
    for copy in (2, 1, 0):
        sheet.box(8 + 7 * copy, 12 + 7 * copy, 376, 132, "paper" if copy == 0 else "wash", outline="line")
    for stage in range(4):
        x = 20 + 90 * stage
        sheet.box(x, 26, 78, 66, "wash", outline="line")
        for gpu in range(min(node, 16)):
            sheet.box(x + 7 + 17 * (gpu % 4), 32 + 15 * (gpu // 4), 13, 11, _COLORS[stage], round=1)
        sheet.text(x + 39, 86, f"stage {stage + 1}" if stage < 3 else "…", at="middle", size=12)
        if stage < 3:
            sheet.arrow((x + 80, 58), (x + 88, 58))
    sheet.words(20, 114, "closest together: ", ("tensor parallel ", "a"), (yours.tensor_parallel, "a"), ", then context ",
                yours.context_parallel)
    sheet.words(20, 134, "along the row: ", ("pipeline parallel ", "b"), (yours.pipeline_parallel, "b"))
    sheet.words(22, 184, "the rows: ", ("data parallel ", "e"), (yours.data_parallel, "e"), ", on ", yours.layout_gpus, " GPUs")
    degrees = ("tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel")
    held = ", ".join(f"{name.replace('_', ' ')} {getattr(yours, name)}" for name in degrees)
    return sheet.picture("Fast links for tensor parallel, slow ones for copies",
                         "Neighbors share matrices, the stages in a row share the layers, copies of the row share the batch: "
                         f"{held}.")
