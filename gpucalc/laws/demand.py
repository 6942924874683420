"""What people and windows ask of servers: their busiest second, their month, and the requests and tokens of a window."""
from ..core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR
from ..core.law import law


# People

@law
def user_requests_per_second(daily_users, messages_per_day=..., busiest_hour_share=...):
    """Requests a second of all users in the busiest hour (1/s), each message being one; an even load has a share of 1/24.

    Servers are planned for the busiest hour of the day, as telephone exchanges are. ITU-T E.500, traffic intensity measurement.
    """
    return daily_users * messages_per_day * busiest_hour_share / SECONDS_PER_HOUR


@law
def mean_requests_per_month(requests_per_second, busiest_hour_share=...):
    """Requests a month of a load that has this rate in the busiest hour of every day (1/month): what a month is billed for."""
    return requests_per_second * SECONDS_PER_HOUR / busiest_hour_share * HOURS_PER_MONTH / HOURS_PER_DAY


@law
def daily_peak_factor(busiest_hour_share=...):
    """Requests in the busiest hour over the mean of its day (ratio)."""
    return busiest_hour_share * HOURS_PER_DAY


# Windows

@law
def window_requests(images_per_day, window_hours):
    """Images that come in during one window and are done in the next (count), at an even rate all day."""
    return images_per_day * window_hours / HOURS_PER_DAY


@law
def window_tokens(window_requests, output):
    """Tokens that the answers of a window have (count)."""
    return window_requests * output
