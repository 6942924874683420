"""The shipped data are valid and consistent, and a price book that is wrong is refused with file, row and column."""
import datetime
import io
import math
import subprocess
import sys

import pandas
import pytest

from gpucalc import catalogue
from gpucalc.explanation import evaluate
from gpucalc.law import LAWS
from gpucalc.quantities import QUANTITIES

NEWEST = catalogue.price_books()[-1]
HEADER = ",".join(catalogue.PRICES.columns)
GOOD = f"""{HEADER}
rent,Cloud,one H100,H100 SXM 80GB,1,west,on-demand,2.10,USD,USD/h,,,2026-01-12,price page,seen,
rent,Cloud,eight H100,H100 SXM 80GB,8,west,on-demand,16,USD,USD/h,,,2026-01,price page,seen,
server,Maker,8x H100,H100 SXM 80GB,8,west,purchase,250000,USD,USD,,,2026,quote,seen,
egress,Cloud,internet,,,west,list,0,USD,USD/GB,0,100e9,2026,price page,seen,free
egress,Cloud,internet,,,west,list,0.09,USD,USD/GB,100e9,10e12,2026,price page,seen,
egress,Cloud,internet,,,west,list,0.05,USD,USD/GB,10e12,,2026,price page,seen,
"""


@pytest.fixture
def book(tmp_path):
    """Writes a price file and reads it back."""
    def read(text, encoding="utf-8"):
        path = tmp_path / "my-prices.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return catalogue.prices(path)
    return read


def refused(book, text):
    with pytest.raises(ValueError) as error:
        book(text)
    message = str(error.value)
    assert message.startswith("my-prices.csv, row ") and "\n" not in message
    return message


# The shipped data

@pytest.mark.parametrize("name, least", [("gpus", 35), ("models", 14), ("links", 15), ("recipes", 11),
                                          ("formats", 19), ("measurements", 1)])
def test_shipped_table_is_valid_and_sourced(name, least):
    frame = getattr(catalogue, name)()
    assert len(frame) >= least and frame.index.is_unique
    assert (frame[["unit", "source", "date"]] != "").all(axis=None)


@pytest.mark.parametrize("path", catalogue.price_books(), ids=lambda path: path.stem)
def test_shipped_price_book_is_valid_and_sourced(path):
    frame = catalogue.prices(path)
    assert frame.attrs == {"file": path.name, "date": path.stem}
    assert (frame[["provider", "sku", "region", "unit", "source", "date"]] != "").all(axis=None)
    assert set(frame["item"]) == set(catalogue.ITEMS)


def test_two_price_books_and_the_newest_is_the_default():
    assert len(catalogue.price_books()) >= 2
    assert catalogue.prices().attrs["file"] == NEWEST.name == "2026-06-24.csv"


def test_every_number_in_a_law_column_is_in_the_vocabulary():
    numbers = {column for name in ("gpus", "models", "links", "recipes", "formats")
               for column in getattr(catalogue, name)().select_dtypes("number").columns}
    assert numbers - set(QUANTITIES) == {"year", "ports", "port_bandwidth"}


def test_readme_describes_every_column():
    readme = (catalogue.DATA / "README.md").read_text()
    for table in (*catalogue.TABLES.values(), catalogue.PRICES):
        assert [column for column in table.columns if f"`{column}`" not in readme] == []
    for item, (unit, _, terms) in catalogue.ITEMS.items():
        assert [word for word in (item, unit, *terms) if f"`{word}`" not in readme] == []


@pytest.mark.parametrize("gpu, ratios", [
    ("H100 SXM 80GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("H100 PCIe 80GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("H200 SXM 141GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("B200 SXM 180GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5}),
    ("A100 SXM 80GB", {"int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 16}),
    ("A100 SXM 40GB", {"int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 16}),
    ("V100 SXM 16GB", {"fp32_flops": 1 / 8}),
    ("T4 16GB", {"int8_flops": 2, "fp32_flops": 1 / 8}),
    ("L40S 48GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 4}),
    ("RTX 4090 24GB", {"fp8_flops": 2, "fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 3090 24GB", {"fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 5090 32GB", {"fp8_flops": 2, "fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 0.5}),
    ("RTX 2080 Ti 11GB", {"fp16_accumulate_flops": 2, "int8_flops": 4, "fp32_flops": 1 / 4}),
    ("P100 SXM 16GB", {"fp16_accumulate_flops": 2, "fp32_flops": 1}),
    ("MI300X 192GB", {"fp8_flops": 2, "int8_flops": 2, "tf32_flops": 0.5, "fp32_flops": 1 / 8}),
])
def test_peaks_of_one_gpu_stand_in_the_ratio_of_its_hardware(gpu, ratios):
    row = catalogue.gpu(gpu)
    assert {column: row[column] / row["peak_flops"] for column in ratios} == pytest.approx(ratios, rel=0.03)


def test_dense_never_sparse():
    peaks = catalogue.gpus()["peak_flops"]
    assert peaks["H100 SXM 80GB"] == 989e12 and peaks["A100 SXM 80GB"] == 312e12 and peaks["B200 SXM 180GB"] == 2250e12
    assert peaks["RTX 4090 24GB"] == 165.2e12 and peaks["A10G 24GB"] == 70e12 and peaks["H100 NVL 94GB"] == 835e12
    gpus = catalogue.gpus()
    for column, most in (("fp8_flops", 2.05), ("int8_flops", 4.05), ("tf32_flops", 1.01), ("fp32_flops", 1.01)):
        assert not (gpus[column] > most * gpus["peak_flops"]).any()


def test_consumer_cards_alone_accumulate_faster_in_fp16():
    gpus = catalogue.gpus()
    faster = gpus[gpus["fp16_accumulate_flops"].notna()]
    assert set(faster["kind"]) == {"consumer", "datacenter"}
    assert set(faster.index[faster["kind"] == "datacenter"]) == {"P100 SXM 16GB", "P100 PCIe 16GB"}


@pytest.mark.parametrize("link, marketed", [
    ("NVLink 1", 160e9), ("NVLink 2", 300e9), ("NVLink 3", 600e9), ("NVLink 4", 900e9), ("NVLink 5", 1800e9),
    ("NVLink 4 H800", 400e9)])
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
    assert (gpus["memory_bytes"] / gpus["marketed_bytes"]).between(0.93, 2**30 / 1e9).all()
    assert catalogue.gpu("H100 SXM 80GB")["memory_bytes"] == 81559 * 2**20
    for gpu, row in gpus.iterrows():
        words = row["memory_note"].split()
        if words[0] == "nvidia-smi":
            assert row["memory_bytes"] == int(words[1]) * 2**20, gpu
        if row["memory_note"].startswith("driver figure not known"):
            assert row["memory_bytes"] == row["marketed_bytes"], gpu
        assert f"{row['marketed_bytes'] / 1e9:g}GB" == gpu.split()[-1]


@pytest.mark.parametrize("name", catalogue.models().index)
def test_published_count_follows_from_the_architecture(name):
    row = catalogue.model(name)
    counted = evaluate(LAWS["params"], row.drop("params"))
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
    assert evaluate(LAWS["bytes_per_param"], catalogue.recipe(recipe)) == expected


def test_frozen_bytes_of_adapters():
    # QLoRA: 4 bits, an 8-bit constant per 64 weights, a 32-bit constant per 256 of those
    assert catalogue.recipe("qlora")["frozen_element_bytes"] == (4 + 8 / 64 + 32 / (64 * 256)) / 8
    assert catalogue.recipe("lora")["frozen_element_bytes"] == 2


# Rows and prices asked for

def test_unknown_name_suggests_close_ones():
    with pytest.raises(ValueError, match="data/gpus.csv has no gpu 'H100 SXM'; close: H100 SXM 80GB; see all in that file"):
        catalogue.gpu("H100 SXM")
    with pytest.raises(ValueError, match="data/models.csv has no model 'Llama 3 8B'; close: Llama-3-8B"):
        catalogue.model("Llama 3 8B")


def test_row_is_named_and_a_copy():
    row = catalogue.gpu("A100 SXM 40GB")
    row["peak_flops"] = 0
    assert row.name == "A100 SXM 40GB" and catalogue.gpu("A100 SXM 40GB")["peak_flops"] == 312e12


def test_numbers_do_not_overflow():
    row = catalogue.model("Llama-3.1-405B")
    assert type(row["params"]) is int and type(catalogue.gpu("H100 SXM 80GB")["bandwidth"]) is float
    assert 6 * row["params"] * 10**13 == 24351203328 * 10**15
    assert (6 * catalogue.models()["params"] * 10**13)["Llama-3.1-405B"] == pytest.approx(24351203328e15)


def test_rent_is_per_gpu_and_the_last_tier_has_no_edge(book):
    frame = book(GOOD)
    assert frame["usd_per_hour"].to_list()[:2] == [2.10, 2.0] and frame["usd_per_hour"][2:].isna().all()
    assert frame["to_bytes"].to_list()[-3:] == [100e9, 10e12, math.inf]
    assert frame.attrs == {"file": "my-prices.csv", "date": "2026-01-12"}


def test_date_of_a_book_without_a_full_date(book):
    assert book(GOOD.replace("2026-01-12", "2025")).attrs["date"] == "2026-01"


def test_one_price(book):
    row = catalogue.price(book(GOOD), "rent", sku="eight H100")
    assert row["usd_per_hour"] == 2.0 and row.name == "my-prices.csv, row 3"


def test_cheapest_is_per_gpu_where_rented(book):
    assert catalogue.price(book(GOOD), "rent", gpu="H100 SXM 80GB", cheapest=True)["sku"] == "eight H100"
    assert catalogue.price(book(GOOD), "egress", cheapest=True)["price"] == 0


def test_several_prices_are_listed(book):
    with pytest.raises(ValueError, match="my-prices.csv: 2 prices for item 'rent', gpu 'H100 SXM 80GB'; say which of "
                                         "row 2: Cloud, one H100, H100 SXM 80GB, west, on-demand; row 3: Cloud, eight H100"):
        catalogue.price(book(GOOD), "rent", gpu="H100 SXM 80GB")


def test_price_that_is_not_there(book):
    with pytest.raises(ValueError, match="no price for item 'rent', provider 'Nobody'; provider is one of 'Cloud'"):
        catalogue.price(book(GOOD), "rent", provider="Nobody")


# Price files that are refused

@pytest.mark.parametrize("old, new, expected", [
    (",2.10,", ",-3,", "row 2, column price: -3.0; allowed: a number above 0"),
    (",2.10,", ",0,", "row 2, column price: 0.0; allowed: a number above 0"),
    (",0.09,", ",-0.09,", "row 6, column price: -0.09; allowed: a number of at least 0"),
    (",2.10,", ",two,", "row 2, column price: 'two'; allowed: a number such as 2.10 or 80e9"),
    (",2.10,", ",\"2,10\",", "row 2, column price: '2,10'; allowed: a number"),
    (",2.10,", ",$2.10,", "row 2, column price: '$2.10'; allowed: a number"),
    (",2.10,", ",2_10,", "row 2, column price: '2_10'; allowed: a number"),
    (",2.10,", ",٢,", "row 2, column price: '٢'; allowed: a number"),
    (",2.10,", ",NaN,", "row 2, column price: 'NaN'; allowed: a number"),
    (",2.10,", ",inf,", "row 2, column price: 'inf'; allowed: a number"),
    (",2.10,", ",1e999,", "row 2, column price: '1e999'; allowed: a number"),
    (",2.10,", ",,", "row 2, column price: blank; allowed: a number"),
    ("one H100,H100 SXM 80GB", "one H100,H100",
     "row 2, column gpu: 'H100'; allowed: a gpu of data/gpus.csv; close: H100 SXM 80GB, H100 PCIe 80GB"),
    ("one H100,H100 SXM 80GB", "one H100,", "row 2, column gpu: blank; allowed: filled for rent"),
    ("internet,,,west,list,0.09", "internet,H100 SXM 80GB,,west,list,0.09",
     "row 6, column gpu: 'H100 SXM 80GB'; allowed: blank for egress"),
    (",1,west", ",0,west", "row 2, column gpus: 0.0; allowed: a whole number of at least 1"),
    (",1,west", ",1.5,west", "row 2, column gpus: 1.5; allowed: a whole number of at least 1"),
    (",1,west", ",,west", "row 2, column gpus: blank; allowed: filled for rent"),
    ("west,on-demand,2.10", "west,preemptible,2.10", "row 2, column term: 'preemptible'; allowed: on-demand, spot, reserved-1y"),
    ("west,on-demand,2.10", "west,purchase,2.10", "row 2, column term: 'purchase'; allowed: on-demand, spot, reserved-1y"),
    ("rent,Cloud,one", "lease,Cloud,one", "row 2, column item: 'lease'; allowed: rent, card, server"),
    ("2.10,USD,USD/h", "2.10,EUR,USD/h", "row 2, column currency: 'EUR'; allowed: USD"),
    ("2.10,USD,USD/h", "2.10,USD,USD/month", "row 2, column unit: 'USD/month'; allowed: USD/h for rent"),
    ("rent,Cloud,one", "rent,,one", "row 2, column provider: blank; allowed: text"),
    ("2026-01-12,price page", "2026-01-12,", "row 2, column source: blank; allowed: text"),
    (",seen,\nrent", ",sure,\nrent", "row 2, column confidence: 'sure'; allowed: seen, recalled"),
    ("2026-01-12", "12.01.2026", "row 2, column date: '12.01.2026'; allowed: YYYY, YYYY-MM or YYYY-MM-DD, not in the future"),
    ("2026-01-12", "2026-02-30", "row 2, column date: '2026-02-30'; allowed: YYYY"),
    ("2026-01-12", "2026-1-2", "row 2, column date: '2026-1-2'; allowed: YYYY"),
    ("2026-01-12", "20260112", "row 2, column date: '20260112'; allowed: YYYY"),
    ("2026-01-12", str(datetime.date.today() + datetime.timedelta(2)), "allowed: YYYY, YYYY-MM or YYYY-MM-DD, not in the future"),
    ("eight H100,H100 SXM 80GB,8", "one H100,H100 SXM 80GB,8",
     "row 3: same item, provider, sku, gpu, region, term, from_bytes as row 2"),
    (",100e9,10e12", ",200e9,10e12", "row 6, column from_bytes: 200000000000.0; allowed: 1e+11, where the tier below ends"),
    (",100e9,10e12", ",50e9,10e12", "row 6, column from_bytes: 50000000000.0; allowed: 1e+11"),
    (",0,100e9", ",1,100e9", "row 5, column from_bytes: 1.0; allowed: 0, where the tier below ends"),
    (",10e12,,", ",10e12,20e12,", "row 7, column to_bytes: 20000000000000.0; allowed: blank in the last tier"),
    (",100e9,10e12", ",100e9,1e9", "row 6, column to_bytes: 1000000000.0; allowed: above 1e+11"),
    ("USD/h,,,2026-01-12", "USD/h,,9,2026-01-12", "row 2, column to_bytes: 9.0; allowed: blank for rent"),
    ("USD/h,,,2026-01-12", "USD/h,9,,2026-01-12", "row 2, column from_bytes: 9.0; allowed: blank for rent"),
    ("price page,seen,\nrent", "price page\nrent", "row 2: 14 cells; allowed: 16, as in the header"),
    ("rent,Cloud,one", 'rent,"Cloud"s,one', "row 2: ',' expected after '\"'; allowed: comma-separated cells"),
    ("rent,Cloud,one", 'rent,"Cl\noud",o,ne', "row 2: 17 cells; allowed: 16"),
    ("price,currency", "currency", "row 1: missing column price; allowed: item, provider, sku"),
    ("price,currency", "price,colour,currency", "row 1, column colour: unknown or there twice; allowed: item, provider, sku"),
    ("price,currency", "price,price,currency", "row 1, column price: unknown or there twice"),
])
def test_refused_price_file(book, old, new, expected):
    assert old in GOOD
    assert expected in refused(book, GOOD.replace(old, new, 1))


@pytest.mark.parametrize("content, expected", [
    (b"", "my-prices.csv, row 1: the file is empty; allowed: item, provider"),
    (b"\n \n", "my-prices.csv, row 1: the file is empty"),
    (HEADER.encode(), "my-prices.csv, row 1: no rows below the header"),
    (GOOD.encode().replace(b"Maker", b"M\xe4ker"), "my-prices.csv, row 4: byte 0xe4; allowed: UTF-8 text"),
    (GOOD.encode("utf-16"), "my-prices.csv, row 1: byte 0xff; allowed: UTF-8 text"),
    (b"\x89PNG\r\n\x1a\n", "my-prices.csv, row 1: byte 0x89; allowed: UTF-8 text"),
])
def test_refused_content(book, content, expected):
    assert refused(book, content).startswith(expected)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="nowhere.csv: No such file or directory"):
        catalogue.prices(tmp_path / "nowhere.csv")


def test_text_is_text(book):
    provider = "<script>alert(1)</script>"
    for text in (provider, "=1+1", "Müller & Söhne | *x* $1$", "N/A", "null", "007"):
        assert book(GOOD.replace("rent,Cloud,one", f"rent,{text},one"))["provider"].iloc[0] == text


def test_bom_crlf_spaces_and_blank_lines_change_nothing(book):
    expected = book(GOOD).reset_index(drop=True)
    pandas.testing.assert_frame_equal(book(GOOD, "utf-8-sig").reset_index(drop=True), expected)
    pandas.testing.assert_frame_equal(book(GOOD.replace("\n", "\r\n")).reset_index(drop=True), expected)
    pandas.testing.assert_frame_equal(book(GOOD.replace(",", " , ")).reset_index(drop=True), expected)
    spaced = book(GOOD.replace("\nserver", "\n\n,,,,\nserver"))
    assert list(spaced.index) == [2, 3, 6, 7, 8, 9]


def test_columns_in_any_order(book):
    frame = pandas.read_csv(io.StringIO(GOOD), dtype=str, keep_default_na=False)
    pandas.testing.assert_frame_equal(book(frame[frame.columns[::-1]].to_csv(index=False)), book(GOOD))


def validate(path):
    return subprocess.run([sys.executable, "-m", "gpucalc.catalogue", str(path)], cwd=catalogue.DATA.parent,
                          capture_output=True, text=True)


def test_command_line(tmp_path):
    good = validate(NEWEST)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout == f"2026-06-24.csv: {len(catalogue.prices())} rows, newest 2026-06-24\n"
    path = tmp_path / "my-prices.csv"
    path.write_text(GOOD.replace(",2.10,", ",-3,"))
    bad = validate(path)
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr == "my-prices.csv, row 2, column price: -3.0; allowed: a number above 0\n"


def test_shipped_tables_are_checked_like_prices(tmp_path, monkeypatch):
    text = (catalogue.DATA / "gpus.csv").read_text()
    (tmp_path / "links.csv").write_text((catalogue.DATA / "links.csv").read_text())
    monkeypatch.setattr(catalogue, "DATA", tmp_path)
    first, header = text.splitlines()[1], text.splitlines()[0]
    for bad, expected in (
            (first.replace(",NVLink 1,", ",NVLink 9,"),
             "gpus.csv, row 2, column link: 'NVLink 9'; allowed: a link of data/links.csv"),
            (first.replace(",732e9,", ",0,"), "gpus.csv, row 2, column bandwidth: 0.0; allowed: a number above 0"),
            (first.replace(",datacenter,", ",server,"), "gpus.csv, row 2, column kind: 'server'; allowed: datacenter"),
            (f"{first}\n{first}", "gpus.csv, row 3: same gpu as row 2; allowed: each once")):
        (tmp_path / "gpus.csv").write_text(f"{header}\n{bad}\n")
        catalogue._table.cache_clear()
        with pytest.raises(ValueError) as error:
            catalogue.gpus()
        assert str(error.value).startswith(expected)
    monkeypatch.undo()
    catalogue._table.cache_clear()
