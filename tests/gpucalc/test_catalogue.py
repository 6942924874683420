"""The shipped data are valid and consistent."""
import pytest

import gpucalc
from gpucalc.core.evaluate import FINDERS, Case
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows import catalogue, price_book, tables
from gpucalc.rows.tables import DATA
from tests.each import of_each


# The shipped data

@pytest.mark.parametrize("name, least", [("gpus", 35), ("models", 14), ("links", 15), ("recipes", 11),
                                         ("formats", 34), ("measurements", 1)])
def test_shipped_table_is_valid_and_sourced(name, least):
    frame = getattr(catalogue, name)()
    assert len(frame) >= least and frame.index.is_unique
    assert (frame[["unit", "source", "date"]] != "").all(axis=None)


def test_every_number_in_a_law_column_is_in_the_vocabulary():
    numbers = {column for name in ("gpus", "models", "links", "recipes", "formats")
               for column in getattr(catalogue, name)().select_dtypes("number").columns}
    assert numbers - set(QUANTITIES) == {"year", "ports"}


def test_readme_describes_every_column():
    readme = (DATA / "README.md").read_text()
    for table in (*tables.TABLES.values(), price_book.PRICES):
        assert [column for column in table.columns if f"`{column}`" not in readme] == []
    items = readme.split("| `item` | `unit` |", 1)[1].split("\n\n", 1)[0].splitlines()
    for name, item in price_book.ITEMS.items():
        line = next(line for line in items[2:] if f"`{name}`" in line.split("|")[1])
        assert [word for word in (item.unit, *item.terms) if f"`{word}`" not in line] == []
        assert f"{item.low:g} to {item.high:,.0f}" in line
    assert f"at most {price_book.MOST_GPUS:,}" in readme


@pytest.mark.parametrize("gpu, ratios", [
    ("H100 SXM 80GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("H100 PCIe 80GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("H200 SXM 141GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("B200 SXM 180GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("A100 SXM 80GB", {"int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 16}),
    ("A100 SXM 40GB", {"int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 16}), ("V100 SXM 16GB", {"fp32_flops": 1 / 8}),
    ("T4 16GB", {"int8_flops": 2, "fp32_flops": 1 / 8}),
    ("L40S 48GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 4}),
    ("RTX 4090 24GB", {"fp8_flops": 2, "fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 3090 24GB", {"fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 5090 32GB", {"fp8_flops": 2, "fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 2080 Ti 11GB", {"fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 1 / 4}),
    ("P100 SXM 16GB", {"fp16_accumulate_flops": 2, "fp32_flops": 1}),
    ("MI300X 192GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 8})])
def test_peaks_of_one_gpu_stand_in_the_ratio_of_its_hardware(gpu, ratios):
    row = catalogue.gpu(gpu)
    assert {column: row[column] / row["peak_flops"] for column in ratios} == pytest.approx(ratios, rel=0.03)


@pytest.mark.parametrize("kind, name", [
    ("model", "Llama-3-8B"), ("gpu", "H100 SXM 80GB"), ("link", "NVLink 4"), ("recipe", "mixed-adamw"), ("weight_format", "FP32"),
    ("efficiency", "bound")])
def test_a_row_is_found_by_its_kind_and_name(kind, name):
    row = FINDERS[kind](name)
    assert (row.kind, row.name) == (kind, name) and len(row) > 4
    with pytest.raises(ValueError, match=rf"^data/\w+\.csv has no {kind} '{name} so'; close: {name}.*; see all in that file$"):
        FINDERS[kind](f"{name} so")


def test_a_table_is_a_copy():
    for read in (catalogue.gpus, catalogue.links, catalogue.models, catalogue.recipes, catalogue.formats, catalogue.efficiencies,
                 catalogue.assumptions, catalogue.fine_print, catalogue.measurements):
        held = read()
        held["source"] = "changed"
        assert (read()["source"] != "changed").all()


def test_dense_never_sparse():
    peaks = catalogue.gpus()["peak_flops"]
    assert peaks["H100 SXM 80GB"] == 989e12 and peaks["A100 SXM 80GB"] == 312e12 and peaks["B200 SXM 180GB"] == 2250e12
    assert peaks["RTX 4090 24GB"] == 165.2e12 and peaks["A10G 24GB"] == 70e12 and peaks["H100 NVL 94GB"] == 835e12
    gpus = catalogue.gpus()
    for column, most in (("fp8_flops", 2.05), ("int8_flops", 4.05), ("tf32_flops", 1.01), ("fp32_flops", 1.01)):
        above = gpus.index[gpus[column] > most * gpus["peak_flops"]]
        assert set(above) == ({"VR200 NVL72 288GB", "Trainium3 144GB"} if column == "fp8_flops" else set()), "8 bits widened more than 16"


def test_consumer_cards_alone_accumulate_faster_in_fp16():
    gpus = catalogue.gpus()
    faster = gpus[gpus["fp16_accumulate_flops"].notna()]
    assert set(faster["kind"]) == {"consumer", "datacenter"}
    assert set(faster.index[faster["kind"] == "datacenter"]) == {"P100 SXM 16GB", "P100 PCIe 16GB"}


@pytest.mark.parametrize("link, marketed", [
    ("NVLink 1", 160e9), ("NVLink 2", 300e9), ("NVLink 3", 600e9), ("NVLink 4", 900e9), ("NVLink 5", 1800e9),
    ("NVLink 4 H800", 400e9), ("NVLink 3 A800", 400e9), ("NVLink 6 rack", 3600e9)])
def test_nvlink_is_half_of_what_is_marketed(link, marketed):
    assert catalogue.link(link)["link_bandwidth"] == marketed / 2


def test_links_are_their_ports():
    links = catalogue.links()
    assert (links["ports"] * links["port_bandwidth"]).to_numpy() == pytest.approx(links["link_bandwidth"].to_numpy(), rel=1e-4)
    pcie = links["link_bandwidth"][["PCIe 3 x16", "PCIe 4 x16", "PCIe 5 x16"]]
    assert pcie.to_list() == pytest.approx([rate * 1e9 * 16 * 128 / 130 / 8 for rate in (8, 16, 32)], rel=1e-4)
    assert {f"NVLink {n}" for n in range(1, 6)} | {"InfiniBand HDR", "InfiniBand NDR", "InfiniBand XDR"} <= set(links.index)


def test_gpu_has_the_bandwidth_of_its_link():
    gpus, links = catalogue.gpus(), catalogue.links()
    assert (gpus["link_bandwidth"] == gpus["link"].map(links["link_bandwidth"])).all()
    assert set(gpus["host_bandwidth"].dropna()) == set(links["link_bandwidth"][["PCIe 3 x16", "PCIe 4 x16", "PCIe 5 x16"]])


def test_driver_memory_is_near_the_marketed_one():
    gpus = catalogue.gpus()
    shares, shared = gpus["memory_bytes"] / gpus["marketed_bytes"], gpus["kind"] == "unified"
    assert shares[~shared].between(0.93, 2**30 / 1e9).all() and shares[shared].between(0.75, 1.01).all()
    assert catalogue.gpu("H100 SXM 80GB")["memory_bytes"] == 81559 * 2**20
    for gpu, row in gpus.iterrows():
        words = row["memory_note"].split()
        if words[0] == "nvidia-smi":
            assert row["memory_bytes"] == int(words[1]) * 2**20, gpu
        if row["memory_note"].startswith("driver figure not known"):
            assert row["memory_bytes"] == row["marketed_bytes"], gpu
        assert f"{row['marketed_bytes'] / 1e9:g}GB" == gpu.split()[-1]


@of_each(catalogue.models().index.tolist())
def test_published_count_follows_from_the_architecture(name):
    row = catalogue.model(name)
    counted = Case({name: value for name, value in row.items() if name != "params"})(LAWS["params"])
    assert counted == row["params"] and type(counted) is int


@pytest.mark.parametrize("name, count", [
    ("Llama-2-7B", 6_738_415_616), ("Llama-3-8B", 8_030_261_248), ("Llama-3-70B", 70_553_706_496),
    ("Mixtral-8x7B", 46_702_792_704), ("GPT-3-175B", 174_604_259_328), ("Llama-3.1-405B", 405_853_388_800),
    ("DeepSeek-V3", 671_026_419_200)])
def test_published_counts(name, count):
    assert catalogue.model(name)["params"] == count


def test_architectures_are_consistent():
    models = catalogue.models()
    assert (models["heads"] % models["kv_heads"] == 0).all() and (models["window_layers"] <= models["layers"]).all()
    assert ((models["window"] > 0) == (models["window_layers"] > 0)).all()
    assert ((models["moe_layers"] > 0) == (models["family"] == "MoE")).all()
    assert ((models["kv_lora_rank"] > 0) == (models["attention"] == "MLA")).all()
    others = models[models["attention"] != "MLA"]
    expected = ["MHA" if heads == kv else "MQA" if kv == 1 else "GQA" for heads, kv in zip(others["heads"], others["kv_heads"])]
    assert expected == others["attention"].to_list()


@pytest.mark.parametrize("recipe, expected", [
    ("fp32-adamw", 16), ("mixed-adamw", 16), ("mixed-adamw-fp32-grads", 18), ("sgd-momentum", 12),
    ("bf16-adamw", 8), ("lion", 12), ("adamw-8bit", 8 + 2 * (1 + 4 / 256))])    # 256 values of a byte share 4 bytes, twice
def test_recipe_bytes_per_parameter(recipe, expected):
    assert Case(catalogue.recipe(recipe))(LAWS["bytes_per_param"]) == expected


def test_frozen_bytes_of_adapters():
    # QLoRA: 4 bits, an 8-bit constant per 64 weights, a 32-bit constant per 256 of those
    assert catalogue.recipe("qlora")["frozen_element_bytes"] == (4 + 8 / 64 + 32 / (64 * 256)) / 8
    assert catalogue.recipe("lora")["frozen_element_bytes"] == 2


# Rows asked for

def test_unknown_name_suggests_close_ones():
    with pytest.raises(ValueError, match="data/gpus.csv has no gpu 'H101 SXM'; close: .*H100 SXM 80GB.*; see all in that file"):
        catalogue.gpu("H101 SXM")
    with pytest.raises(ValueError, match="data/models.csv has no model 'Llama 3 8C'; close: Llama-3-8B"):
        catalogue.model("Llama 3 8C")


def test_row_is_named_and_a_copy():
    row = catalogue.gpu("A100 SXM 40GB")
    row["peak_flops"] = 0
    assert row.name == "A100 SXM 40GB" and catalogue.gpu("A100 SXM 40GB")["peak_flops"] == 312e12


def test_numbers_do_not_overflow():
    row = catalogue.model("Llama-3.1-405B")
    assert type(row["params"]) is int and type(catalogue.gpu("H100 SXM 80GB")["bandwidth"]) is float
    assert 6 * row["params"] * 10**13 == 24351203328 * 10**15
    assert (6 * catalogue.models()["params"] * 10**13)["Llama-3.1-405B"] == pytest.approx(24351203328e15)


def test_shipped_tables_are_checked(tmp_path, monkeypatch):
    text = (DATA / "gpus.csv").read_text()
    for name in ("links.csv", "shares.csv"):
        (tmp_path / name).write_text((DATA / name).read_text())
    monkeypatch.setattr(tables, "DATA", tmp_path)
    first, header = text.splitlines()[1], text.splitlines()[0]
    for bad, expected in (
            (first.replace(",NVLink 1,", ",NVLink 9,"),
             "gpus.csv, row 2, column link: 'NVLink 9'; allowed: a link of data/links.csv"),
            (first.replace(",732e9,", ",0,"), "gpus.csv, row 2, column bandwidth: 0.0; allowed: a number above 0"),
            (first.replace(",datacenter,", ",server,"), "gpus.csv, row 2, column kind: 'server'; allowed: datacenter"),
            (f"{first}\n{first}", "gpus.csv, row 3: same gpu as row 2; allowed: each once")):
        (tmp_path / "gpus.csv").write_text(f"{header}\n{bad}\n")
        for held in (tables.table, catalogue._gpus):
            held.cache_clear()
        with pytest.raises(ValueError) as error:
            catalogue.gpus()
        assert str(error.value).startswith(expected)
    monkeypatch.undo()
    tables.table.cache_clear()


def test_tables_of_named_rows():
    cards = gpucalc.gpus(["rtx 4090", "H100 SXM", "RTX 4090 24GB"])
    assert list(cards.index) == ["RTX 4090 24GB", "H100 SXM 80GB"] and cards.bandwidth["H100 SXM 80GB"] == 3.35e12
    path = str(DATA.parent / "tests" / "configs" / "Command-R-35B.json")
    models = gpucalc.models(["llama 3 70b", path])
    assert models.index.name == "model" and list(models.layers) == [80, catalogue.model(path).layers]
    assert len(gpucalc.gpus()) == len(catalogue.gpus()) and len(gpucalc.models()) == len(catalogue.models())
    for bad, said in ((["H100"], "may be H100 SXM 80GB"), (["H0"], "has no gpu 'H0'"), ("H100", "allowed: a list")):
        with pytest.raises(ValueError, match=said):
            gpucalc.gpus(bad)
