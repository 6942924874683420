"""Compute prices refreshed from a catalogue of gpuhunt's shape: what is taken, kept and dropped; nothing is half written."""
import datetime
import json
import os
import sys
import types
from types import SimpleNamespace

import pytest

from book.prices import refresh
from gpucalc.rows import catalogue, price_book
from gpucalc.rows.price_book import PRICES

TODAY = datetime.date(2026, 2, 3)
HEADER = ",".join(PRICES.columns)
OLD = f"""{HEADER}
rent,AWS,p5.48xlarge,H100 SXM 80GB,8,us-east-1,on-demand,98.32,USD,USD/h,,,,,,2026-01-12,price page,seen,
rent,AWS,p5.48xlarge,H100 SXM 80GB,8,us-east-1,reserved-3y,64,USD,USD/h,3,,,,,2026-01-12,price page,seen,before the cut
rent,AWS,p5.48xlarge,H100 SXM 80GB,8,us-east-1,reserved-1y,50,USD,USD/h,1,,,,,2026-01-12,price page,seen,
rent,AWS,p5.48xlarge,H100 SXM 80GB,8,eu-west-2,spot,20,USD,USD/h,,,,,,2026-01-12,price page,seen,
rent,AWS,p3.2xlarge,V100 SXM 16GB,1,us-east-1,on-demand,3.06,USD,USD/h,,,,,,2026,price page,seen,"old, but nowhere else"
rent,Azure,ND96isr_H100_v5,H100 SXM 80GB,8,eastus,on-demand,98.32,USD,USD/h,,,,,,2026,price page,seen,
server,Maker,8x H100,H100 SXM 80GB,8,west,purchase,250000,USD,USD,,,,,,2026,quote,seen,
egress,AWS,internet,,,west,list,0.09,USD,USD/GB,,,,0,,2026,price page,seen,
"""
Offer = refresh.Offer


def catalog(provider, version, *offers):
    return {provider: refresh.Catalog("gpuhunt", version, [Offer(provider, *offer, []) for offer in offers])}


AWS = catalog(
    "aws", "20260201-7",
    ("p5.48xlarge", "us-east-1", 55.04, 8, "H100", 80.0, False),
    ("p5.48xlarge", "us-west-2", 56.0, 8, "H100", 80.0, False),
    ("p5.4xlarge", "us-east-1", 6.88, 1, "H100", 80.0, False),
    ("p5.4xlarge", "us-east-2", 6.5, 1, "H100", 80.0, False),
    ("t4g.small", "us-east-1", 0.0168, 0, None, None, False),
    ("g9.small", "us-east-1", 0.5, 1, "X999", 12.0, False),
    ("g6.xlarge", "us-east-1", 0.0, 1, "L4", 24.0, False))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "2026-01-12.csv").write_text(OLD)
    return tmp_path


def remade(folder, today, found):
    print("\n".join(refresh.report(refresh.refresh(folder, today, found), found, [])))


def rows(path):
    frame = price_book.project_book(path).fillna({"note": ""})
    return {(row["provider"], row["sku"], row["region"], row["term"]): row for row in frame.to_dict("records")}


def test_compute_is_taken_and_all_else_kept_with_its_date(folder, capsys):
    remade(folder, TODAY, AWS)
    new = rows(folder / "2026-02-03.csv")
    p5 = new["AWS", "p5.48xlarge", "us-east-1", "on-demand"]
    assert (p5["price"], p5["date"], p5["source"], p5["confidence"]) == (
        55.04, "2026-02-01", "gpuhunt, catalog aws 20260201-7", "seen")
    old = rows(folder / "2026-01-12.csv")
    for kept in (("AWS", "p3.2xlarge", "us-east-1", "on-demand"), ("Azure", "ND96isr_H100_v5", "eastus", "on-demand"),
                 ("AWS", "p5.48xlarge", "us-east-1", "reserved-1y"), ("Maker", "8x H100", "west", "purchase"),
                 ("AWS", "internet", "west", "list")):
        assert str(new[kept]) == str(old[kept])
    assert (folder / "2026-01-12.csv").read_text() == OLD
    said = capsys.readouterr().out
    assert "moved: AWS, p5.48xlarge, us-east-1, on-demand: 98.32 to 55.04 USD/h (-44%)" in said
    assert "added: AWS, p5.4xlarge, us-east-2, on-demand: 6.5 USD/h" in said
    assert "not loaded, prices kept: azure, cloudrift, gcp, jarvislabs, lambdalabs" in said


def test_what_is_gone_is_named_with_the_reason(folder, capsys):
    remade(folder, TODAY, AWS)
    new, said = rows(folder / "2026-02-03.csv"), capsys.readouterr().out
    assert ("AWS", "p5.48xlarge", "us-east-1", "reserved-3y") not in new
    assert "gone: AWS, p5.48xlarge, us-east-1, reserved-3y: 64 USD/h: above the on-demand price, now 55.04 USD/h" in said
    assert ("AWS", "p5.48xlarge", "eu-west-2", "spot") not in new
    assert "gone: AWS, p5.48xlarge, eu-west-2, spot: 20 USD/h: no longer in the catalog" in said
    assert "against 2026-01-12.csv 1 moved, 5 same, 1 added, 2 gone" in said


def test_cheapest_region_of_what_is_new(folder):
    remade(folder, TODAY, AWS)
    new = rows(folder / "2026-02-03.csv")
    assert [key[2] for key in new if key[1] == "p5.4xlarge"] == ["us-east-2"]
    assert [key[2] for key in new if key[1] == "p5.48xlarge" and key[3] == "on-demand"] == ["us-east-1"]


def test_unknown_gpus_and_missing_prices_are_skipped_and_counted(folder, capsys):
    remade(folder, TODAY, AWS)
    assert {row["gpu"] for row in rows(folder / "2026-02-03.csv").values()} == {"", "H100 SXM 80GB", "V100 SXM 16GB"}
    said = capsys.readouterr().out
    assert "skipped: 2 offers" in said and "aws X999 12 GB (1)" in said and "aws L4 24 GB (1)" in said


@pytest.mark.parametrize("provider, instance, name, memory, sku", [
    ("aws", "p4d.24xlarge", "A100", 40, "A100 SXM 40GB"), ("aws", "p4de.24xlarge", "A100", 80, "A100 SXM 80GB"),
    ("azure", "Standard_NC24ads_A100_v4", "A100", 80, "A100 PCIe 80GB"), ("gcp", "a3-highgpu-8g", "H100", 80, "H100 SXM 80GB"),
    ("lambdalabs", "gpu_1x_h100_pcie", "H100", 80, "H100 PCIe 80GB"),
    ("runpod", "NVIDIA H100 PCIe", "H100", 80, "H100 PCIe 80GB"),
    ("azure", "Standard_NC6s_v3", "V100", 16, "V100 PCIe 16GB"), ("oci", "BM.GPU.A10.4", "A10", 24, "A10 24GB"),
    ("azure", "Standard_NV6ads_A10_v5", "A10", 4, None), ("cloudrift", "h100.1", "H100", 80, None),
    ("lambdalabs", "gpu_1x_a100", "A100", 40, None), ("gcp", "tpu", "v5p-8", 0, None), ("aws", "c5.large", None, None, None)])
def test_gpu_is_mapped_by_a_table_and_never_guessed(provider, instance, name, memory, sku):
    assert refresh.gpu_sku(Offer(provider, instance, "here", 1.0, 1, name, memory, False, [])) == sku


def test_every_sku_of_the_tables_is_a_gpu_of_the_project():
    named = {f"{name} {form} {memory}GB" for (name, memory), forms in refresh.FORMS.items() for form in forms}
    assert named | set(refresh.SKUS.values()) <= set(catalogue.gpus().index)


def test_every_sku_has_the_name_and_the_memory_that_the_catalog_says():
    """A B300 is sold with 288 GB, of which clouds list 268 or 270."""
    for (name, memory), sku in refresh.SKUS.items():
        assert name in sku.replace(" ", "") and (sku.endswith(f" {memory}GB") or (name, memory) in (("B300", 268), ("B300", 270)))


def test_every_accelerator_of_skypilot_is_one_that_the_tables_know():
    """Its name says the family and, of two sizes, the GB: a V100 has 16, an A100 40, an H100 80."""
    assert set(refresh.ACCELERATORS.values()) <= set(refresh.SKUS) | set(refresh.FORMS)
    for theirs, (name, memory) in refresh.ACCELERATORS.items():
        assert theirs.replace("-", "").startswith(name) and (not theirs.endswith("GB") or theirs.endswith(f"-{memory}GB"))
    assert [refresh.ACCELERATORS[name][1] for name in ("V100", "A100", "H100")] == [16, 40, 80]


def test_no_instance_answers_to_two_forms():
    for forms in refresh.FORMS.values():
        starts = [(form, start) for form, each in forms.items() for start in each]
        assert not [(one, other) for form, one in starts for another, other in starts
                    if form != another and one.startswith(other)]


def test_zones_of_a_region_are_one_row_at_the_middle_price(folder):
    zones = catalog("gcp", "20260202", ("a3-highgpu-8g", "us-central1-a", 40.0, 8, "H100", 80.0, True),
                    ("a3-highgpu-8g", "us-central1-b", 47.0, 8, "H100", 80.0, True),
                    ("a3-highgpu-8g", "us-central1-c", 41.0, 8, "H100", 80.0, True))
    remade(folder, TODAY, zones)
    found = [row for key, row in rows(folder / "2026-02-03.csv").items() if key[0] == "GCP"]
    assert [(row["region"], row["price"], row["term"]) for row in found] == [("us-central1", 41.0, "spot")]


def test_an_instance_with_several_numbers_of_gpus_is_named_by_them(folder):
    pods = catalog("runpod", "20260202", ("NVIDIA L4", "EU-1", 0.5, 1, "L4", 24.0, False),
                   ("NVIDIA L4", "EU-1", 1.0, 2, "L4", 24.0, False))
    remade(folder, TODAY, pods)
    assert {key[1] for key in rows(folder / "2026-02-03.csv") if key[0] == "RunPod"} == {"1x NVIDIA L4", "2x NVIDIA L4"}


@pytest.mark.parametrize("instance, price, gpus", [
    ("p5.a", 8000.1, 8), ("p5.b", 0.079, 8), ("p5.c", 1e308, 8), ("p5.d", -1.0, 8), ("p5.e", float("nan"), 8),
    ("p5.f", 10.0, 10_001),
    ("p5.\u202eg", 10.0, 8), ("p5.h\0", 10.0, 8)])
def test_what_no_book_may_hold_is_skipped(folder, capsys, instance, price, gpus):
    remade(folder, TODAY, catalog("aws", "20260202", (instance, "us-east-1", price, gpus, "H100", 80.0, False),
                                  ("p5.z", "us-east-1", 80.0, 8, "H100", 80.0, False)))
    assert {key[1] for key in rows(folder / "2026-02-03.csv") if key[1].startswith("p5.")} == {"p5.z", "p5.48xlarge"}
    assert "skipped: 1 offers without a plausible price or of a GPU that the table has no SKU for: aws H100 80 GB (1)" in (
        capsys.readouterr().out)


def test_a_second_time_on_one_day_is_refused(folder):
    remade(folder, TODAY, AWS)
    first = (folder / "2026-02-03.csv").read_bytes()
    same = refresh.refresh(folder, TODAY, AWS)
    assert same.before is same.after, "nothing new"
    moved = catalog("aws", "20260203", ("p5.48xlarge", "us-east-1", 50.0, 8, "H100", 80.0, False))
    with pytest.raises(ValueError, match="2026-02-03.csv is there already; remove it to make it again"):
        remade(folder, TODAY, moved)
    assert (folder / "2026-02-03.csv").read_bytes() == first


@pytest.mark.parametrize("break_at", ["replace", "project_book"])
def test_an_interrupted_write_leaves_nothing(folder, monkeypatch, break_at):
    def interrupted(*arguments):
        raise KeyboardInterrupt
    old = price_book.project_book(folder / "2026-01-12.csv")
    target = os if break_at == "replace" else refresh.price_book
    if break_at == "project_book":
        answers = iter([old])
        monkeypatch.setattr(target, "project_book", lambda path: next(answers, None) if path.suffix == ".csv" else interrupted())
    else:
        monkeypatch.setattr(target, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        remade(folder, TODAY, AWS)
    assert [path.name for path in folder.iterdir()] == ["2026-01-12.csv"]


def test_rows_that_no_book_may_hold_stop_it(folder):
    bad = catalog("aws", "20991231", ("p5.48xlarge", "us-east-1", 55.04, 8, "H100", 80.0, False))
    with pytest.raises(ValueError, match="column date: '2099-12-31'; allowed: at most .*, the date of the book"):
        remade(folder, TODAY, bad)
    assert [path.name for path in folder.iterdir()] == ["2026-01-12.csv"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """SkyPilot's files are on no network here, unless a test gives them."""
    def none(address):
        raise OSError("no route to host")
    monkeypatch.setattr(refresh, "_text_at", none)


def said_of(capsys):
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    return err


def test_without_gpuhunt_it_says_so_and_changes_nothing(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    assert refresh.main(folder) == 1
    assert "gpuhunt is not installed" in said_of(capsys)
    assert [path.name for path in folder.iterdir()] == ["2026-01-12.csv"]


def stand_in(load):
    """A module with the two names of gpuhunt that are used."""
    module = types.ModuleType("gpuhunt")
    module.GPUHuntError = type("GPUHuntError", (Exception,), {})
    module.Catalog = lambda auto_reload: SimpleNamespace(load=lambda: load(module), catalog=AWS)
    return module


def test_offline_it_says_so_and_changes_nothing(folder, monkeypatch, capsys):
    def fail(module):
        raise module.GPUHuntError("Failed to load catalogs of all providers")
    monkeypatch.setitem(sys.modules, "gpuhunt", stand_in(fail))
    assert refresh.main(folder) == 1
    assert "Failed to load catalogs of all providers" in said_of(capsys)
    assert [path.name for path in folder.iterdir()] == ["2026-01-12.csv"]


def test_with_a_catalog_it_makes_the_book_of_today(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gpuhunt", stand_in(lambda module: None))
    assert refresh.main(folder) == 0
    assert f"{datetime.date.today()}.csv: 7 prices" in capsys.readouterr().out


def test_without_a_folder_it_is_the_project_that_is_refreshed(folder, monkeypatch, capsys):
    (folder / "prices").mkdir()
    (folder / "2026-01-12.csv").rename(folder / "prices/2026-01-12.csv")
    monkeypatch.setattr(price_book, "DATA", folder)
    monkeypatch.setitem(sys.modules, "gpuhunt", stand_in(lambda module: None))
    assert refresh.main() == 0
    assert sorted(path.name for path in (folder / "prices").iterdir()) == ["2026-01-12.csv", f"{datetime.date.today()}.csv"]
    assert refresh.main() == 0
    assert capsys.readouterr().out.endswith("make prices: nothing new; nothing is changed\n")


def test_a_catalog_older_than_a_row_of_the_book_replaces_nothing_of_its_kind(folder):
    found = catalog("aws", "20251201", ("p5.48xlarge", "us-east-1", 60.0, 8, "H100", 80.0, False))
    made = refresh.refresh(folder, TODAY, found)
    assert made.after is made.before and not made.gone
    assert "held back: AWS, p5.48xlarge, us-east-1, on-demand: 60 USD/h: of 2025-12-01, older than the book's of 2026-01-12; look it up" in (
        "\n".join(refresh.report(made, found, [])))


def test_a_recorded_catalog_makes_a_book_and_the_text_of_a_pull_request(folder, capsys):
    """What moved, what is held back and why, and what stays by hand; a second run finds nothing new."""
    (folder / "aws").mkdir()
    (folder / "aws/commits.json").write_text('[{"commit": {"committer": {"date": "2026-02-02T10:00:00Z"}}}]')
    (folder / "aws/vms.csv").write_text("InstanceType,AcceleratorName,AcceleratorCount,Price,Region,SpotPrice\n"
                                        "p5.48xlarge,H100,8,60,us-east-1,\np5.4xlarge,H100,1,60,us-east-1,\n")
    assert refresh.main(folder, str(folder), str(folder / "text.md")) == 0
    text = (folder / "text.md").read_text().splitlines()
    assert text[0].startswith(f"{datetime.date.today()}.csv: ") and "- read: 1 providers from SkyPilot" in text
    assert "- moved: AWS, p5.48xlarge, us-east-1, on-demand: 98.32 to 60 USD/h (-39%)" in text
    assert any(line.startswith("- held back: AWS, p5.4xlarge, us-east-1, on-demand: 60 USD/h: 60 a GPU beside ") for line in text)
    assert "- [ ] server: 1 of 2026 or later, quote" in text and not any("] rent: " in line and "catalog" in line for line in text)
    assert refresh.main(folder, str(folder)) == 0
    assert capsys.readouterr().out.endswith("make prices: nothing new; nothing is changed\n")


@pytest.mark.parametrize("left, gone", [(1, 9), (4, 6), (5, 5), (6, 4)])
def test_a_catalog_cut_short_takes_no_rows_away(folder, left, gone):
    """Of ten regions at least five, and more than are left, would go: all stay, and each is told."""
    regions = [f"east-{number}" for number in range(10)]
    line = "rent,AWS,p5.48xlarge,H100 SXM 80GB,8,{},on-demand,98.32,USD,USD/h,,,,,,2026-01-12,price page,seen,\n"
    (folder / "2026-01-12.csv").write_text(f"{HEADER}\n" + "".join(map(line.format, regions)))
    made = refresh.refresh(folder, TODAY, catalog("aws", "20260201", *(
        ("p5.48xlarge", region, 60.0, 8, "H100", 80.0, False) for region in regions[:left])))
    cut = gone > left
    assert len(made.gone) == (0 if cut else gone) and len(made.after) == (10 if cut else left)
    assert [reason for _, reason in made.held] == [
        f"not in the catalog, which lacks {gone} of 10 rows: it may be cut short"] * (gone if cut else 0)


def test_clusters_are_no_single_instances():
    """RunPod rents them out by the machine, in twos and more; they are neither taken nor counted as skipped."""
    offer = Offer("runpod", "NVIDIA L4", "EU-1", 0.5, 1, "L4", 24.0, False, [])
    published = {"runpod": refresh.Catalog("gpuhunt", "20260202", [offer, offer._replace(price=9.0, flags=["runpod-cluster"])])}
    found, skipped = refresh.offers(published)
    assert [(key, row["price"]) for key, row in found.items()] == [(("RunPod", "NVIDIA L4", "EU-1", "on-demand"), "0.5")]
    assert not skipped


@pytest.mark.parametrize("change, row", [
    ({}, dict(provider="AWS", sku="g6", region="us-east-1", gpus_per_server="1", term="on-demand", price="0.5", currency="USD",
              unit="USD/h", date="2026-02-03", source="gpuhunt, catalog aws 20260203-4", confidence="seen", gpu="L4 24GB")),
    (dict(spot=True), dict(term="spot")), (dict(gpu_count=8), dict(gpus_per_server="8", sku="g6")),
    (dict(provider="azure", instance_name="Standard_NC6"), dict(provider="Azure", sku="NC6")),
    (dict(provider="gcp", location="us-central1-a"), dict(region="us-central1")),
    (dict(provider="gcp", location="us-central1"), dict(region="us-central1")),
    (dict(location="us-east-1"), dict(region="us-east-1")), (dict(price=1), dict(price="1.0")),
    (dict(price=0.01), dict(price="0.01")), (dict(price=1000), dict(price="1000.0"))])
def test_an_offer_as_a_row(change, row):
    offer = Offer("aws", "g6", "us-east-1", 0.5, 1, "L4", 24.0, False, [])._replace(**change)
    [found] = refresh.offers({"any": refresh.Catalog("gpuhunt", "20260203-4", [offer])})[0].values()
    assert {name: found[name] for name in row} == row and set(found) == set(PRICES.columns)


@pytest.mark.parametrize("price, taken", [(49.16, True), (49.15, False), (196.64, True), (196.65, False)])
def test_a_move_by_more_than_a_factor_of_two_is_held_back(folder, capsys, price, taken):
    remade(folder, TODAY, catalog("aws", "20260201", ("p5.48xlarge", "us-east-1", price, 8, "H100", 80.0, False)))
    new, said = rows(folder / "2026-02-03.csv"), capsys.readouterr().out
    row = new["AWS", "p5.48xlarge", "us-east-1", "on-demand"]
    assert (row["price"], row["date"]) == ((price, "2026-02-01") if taken else (98.32, "2026-01-12"))
    assert (f"held back: AWS, p5.48xlarge, us-east-1, on-demand: {price:g} USD/h: 98.32 before: more than a factor of two; look "
            "it up" in said) is not taken


@pytest.mark.parametrize("price, taken", [(4.92, True), (4.91, False), (30.7, True), (30.8, False)])
def test_what_is_new_and_far_from_the_middle_of_its_gpu_is_held_back(folder, capsys, price, taken):
    """Both offers of the old book are 12.29 USD for each of eight GPUs: 4.916 to 30.725 is as usual."""
    remade(folder, TODAY, catalog("lambdalabs", "20260201", ("gpu_1x_h100_sxm5", "us-east-1", price, 1, "H100", 80.0, False)))
    key, said = ("Lambda", "gpu_1x_h100_sxm5", "us-east-1", "on-demand"), capsys.readouterr().out
    assert (key in rows(max(folder.glob("*.csv")))) is taken, "where it is held back, nothing is new"
    assert (f"held back: Lambda, gpu_1x_h100_sxm5, us-east-1, on-demand: {price:g} USD/h: {price:.3g} a GPU beside 12.3, the "
            "middle of the book" in said) is not taken


def test_rows_of_a_gpu_that_a_catalog_lists_under_another_name_go(folder, capsys):
    """A price page's row of Azure's H100 gives way to the catalog's, whatever it is called there."""
    remade(folder, TODAY, catalog("azure", "20260201", ("Standard_ND96isr_H100_v5x", "eastus", 90.0, 8, "H100", 80.0, False)))
    new = rows(folder / "2026-02-03.csv")
    assert [key[1] for key in new if key[0] == "Azure"] == ["ND96isr_H100_v5x"]
    assert "gone: Azure, ND96isr_H100_v5, eastus, on-demand: 98.32 USD/h: no longer in the catalog" in capsys.readouterr().out


SKY = """InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice
cpu_4x_general,,,4.0,16.0,0.2,us-east-1,,
gpu_8x_h100_sxm5,H100,8.0,208.0,1800.0,31.92,us-east-1,"{'Gpus': []}",
1V100.6V,V100,1,6.0,23.0,0.19,FIN-01,,0.08
2X,X999,2,6.0,23.0,0.19,FIN-01,,
"""


def skypilot(text=SKY, day="2026-02-01T09:00:00Z"):
    def fetched(address):
        if "api.github.com" in address:
            return json.dumps([{"commit": {"committer": {"date": day}}}] if "lambda" in address else [])
        return text
    return fetched


def test_skypilot_is_read_as_gpuhunt_is():
    """A cloud whose file has no date is left out with the reason; rows without a GPU are none."""
    found, missing = refresh.skypilot_catalogs(skypilot())
    assert list(found) == ["lambdalabs"] and found["lambdalabs"][:2] == ("SkyPilot", "20260201")
    assert missing["aws"] == "IndexError: list index out of range" and len(missing) == 5
    offers = [(item.instance_name, item.price, item.gpu_count, item.gpu_memory, item.spot) for item in found["lambdalabs"].items]
    assert offers == [("gpu_8x_h100_sxm5", 31.92, 8, 80, False), ("1V100.6V", 0.19, 1, 16, False), ("1V100.6V", 0.08, 1, 16, True),
                      ("2X", 0.19, 2, 0, False)]
    rents, skipped = refresh.offers(found)
    row = rents["Lambda", "gpu_8x_h100_sxm5", "us-east-1", "on-demand"]
    assert (row["gpu"], row["price"], row["date"], row["source"]) == (
        "H100 SXM 80GB", "31.92", "2026-02-01", "SkyPilot, catalog lambdalabs 20260201")
    assert skipped == {"lambdalabs V100 16 GB": 2, "lambdalabs X999 0 GB": 1}


@pytest.mark.parametrize("text", ["", "<html>", "InstanceType,AcceleratorName\na,H100\n", SKY.replace("31.92", "much")])
def test_a_file_of_skypilot_that_is_none_is_named(text):
    fetched = skypilot(text)
    found = refresh._skypilot("lambda", fetched)
    assert found == ("SkyPilot", "20260201", []) if text in ("", "<html>") else ": " in found


def test_skypilot_alone_makes_a_book(folder, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gpuhunt", None)
    monkeypatch.setattr(refresh, "_text_at", skypilot())
    monkeypatch.setenv("BOOK_PIP_SAID", "Looking\nERROR: No matching distribution found for gpuhunt\n")
    assert refresh.main(folder) == 0
    said = capsys.readouterr().out
    assert "read: 1 providers from SkyPilot" in said and "gone: " not in said
    assert ("gpuhunt is not installed (it is the extra `prices` of pyproject.toml) [pip: ERROR: No matching distribution found for "
            "gpuhunt]" in said)


def test_a_provider_of_both_is_taken_from_gpuhunt(monkeypatch):
    monkeypatch.setattr(refresh, "gpuhunt_catalogs", lambda: (AWS, 3))
    monkeypatch.setattr(refresh, "skypilot_catalogs", lambda: ({"aws": None, "verda": 1}, {"aws": "late", "azure": "gone"}))
    found, notes = refresh.loaded()
    assert found == {**AWS, "verda": 1}
    assert notes == ["gpuhunt left out 3 rows of its catalogs that it could not read", "SkyPilot, azure: gone"]
