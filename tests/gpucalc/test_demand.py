"""What people and windows ask for: each formula by hand, and the same load told in two ways."""
import pytest

from gpucalc import Case, demand, queueing

MONTH_DAYS = 730 / 24


def test_users_in_the_busiest_hour_by_hand():
    # 50,000 people with 10 messages are 500,000 a day; an eighth, 62,500, come in an hour: 17.4 a second.
    assert demand.user_requests_per_second(50_000, 10, 0.125) == pytest.approx(62_500 / 3600)
    assert demand.user_requests_per_second(24, 3600, 1 / 24) == pytest.approx(1)


def test_a_month_of_users_by_hand():
    peak = demand.user_requests_per_second(50_000, 10, 0.125)
    assert demand.mean_requests_per_month(peak, 0.125) == pytest.approx(500_000 * MONTH_DAYS)
    # An even load of one a second.
    assert demand.mean_requests_per_month(1, 1 / 24) == pytest.approx(730 * 3600)


def test_a_peak_over_the_mean_by_hand():
    assert demand.daily_peak_factor(0.125) == 3 and demand.daily_peak_factor(1 / 24) == 1


@pytest.mark.parametrize("load", [dict(daily_users=50_000), dict(requests_per_second=62_500 / 3600)])
def test_a_load_is_the_same_in_users_and_in_requests(load):
    terms = Case(job="serve", **load).terms("mean_requests_per_month", "requests_per_second", "daily_peak_factor")
    assert terms["mean_requests_per_month"] == pytest.approx(500_000 * MONTH_DAYS)
    assert terms["requests_per_second"] == pytest.approx(62_500 / 3600) and terms["daily_peak_factor"] == 3


def test_a_case_takes_users_for_a_load():
    case = Case(model="Llama-3-8B", daily_users=50_000, requests_per_second=demand.user_requests_per_second)
    assert case("mean_requests_per_month") == pytest.approx(500_000 * MONTH_DAYS)
    assert {used.name: used.source for used in case.explain("mean_requests_per_month").inputs}["busiest_hour_share"].startswith("the8layers")


def test_a_window_of_images_by_hand():
    # A million a day are 166,667 in four hours, not 250,000.
    assert demand.window_requests(1e6, 4) == pytest.approx(166_666.667)
    assert demand.window_tokens(1000, 10) == 10_000


def test_windows_of_any_length_take_the_same_replicas():
    case = Case(images_per_day=1e6, output=10, output_tokens_per_second=50)
    assert [case.but(window_hours=hours)(queueing.offline_replicas) for hours in (1, 4, 24)] == [3, 3, 3]
