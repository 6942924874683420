"""What a price book says about tokens: the APIs that sell a model's, and the servers to rent that make them."""
import pandas as pd

from .law import floor
from .serving import spare_places
from .serving_cost import (break_even_requests_per_month, carried_requests_per_month, input_usd_per_million,
                           output_usd_per_million, paid_utilization, rented_gpus, replica_seconds, serving_usd_per_month)

API_ITEMS = {"api-input": "api_input_usd_per_million", "api-cached-input": "api_cached_usd_per_million",
             "api-output": "api_output_usd_per_million"}
OFFER = ["provider", "sku", "region"]
SERVERS = (*range(1, 9), 12, 16, 24, 32, 48, 64)


def api_offers(book, model):
    """Every API offer of a model, its prices under the laws' names.

    Cached tokens cost what the others do where an offer has no price for them (`has_cached`).
    """
    rows = book[book["item"].isin(API_ITEMS) & (book["sku"] == model)]
    prices = rows.set_index([*OFFER, "item"])["price"].unstack("item").reindex(columns=list(API_ITEMS))
    offers = prices.rename(columns=API_ITEMS).assign(has_cached=prices["api-cached-input"].notna())
    offers["api_cached_usd_per_million"] = prices["api-cached-input"].fillna(prices["api-input"])
    about = rows[rows["item"] == "api-output"].set_index(OFFER)[["date", "source", "note"]]
    return offers.join(about).reset_index()


def servers(book, term):
    """The cheapest server to rent of each GPU and size, by GPU-hour."""
    rents = book[(book["item"] == "rent") & (book["term"] == term)].sort_values("usd_per_hour", kind="stable")
    rents = rents[["gpu", "gpus", *OFFER, "usd_per_hour", "date", "source"]].rename(columns={"gpus": "gpus_per_server"})
    return rents.drop_duplicates(["gpu", "gpus_per_server"])


def server(book, gpu, tensor_parallel, term):
    """The cheapest offer of a GPU in servers that hold a replica; ValueError if there is none."""
    found = servers(book, term)
    found = found[(found["gpu"] == gpu) & (found["gpus_per_server"] >= tensor_parallel)]
    if found.empty:
        raise ValueError(f"{book.attrs['file']}: no {term} rent of {gpu} in servers of {tensor_parallel} or more; "
                         f"or give the parameter usd_per_hour")
    return found.iloc[0].rename(f"{book.attrs['file']}, row {found.index[0]}")


def rented_plans(plans, book, term, requests_per_month, prompt, output):
    """The cheapest servers for each GPU and degree of `capacity.plans` that carries the load, the cheapest plan first.

    A replica stands in one server, and whole servers are paid. The cost of tokens is that at the utilization of the load.
    """
    found = plans[plans["limit"] == ""].merge(servers(book, term), on="gpu")
    found = found[found["gpus_per_server"] >= found["tensor_parallel"]]
    paid = rented_gpus(found["replicas"], found["tensor_parallel"], found["gpus_per_server"])
    found = found.assign(rented_gpus=paid, serving_usd_per_month=serving_usd_per_month(found["usd_per_hour"], paid))
    found = found.sort_values(["serving_usd_per_month", "rented_gpus", "tensor_parallel"], kind="stable")
    found = found.drop_duplicates(["gpu", "tensor_parallel"]).reset_index(drop=True)
    rate, alone, step, size, degree = (found[name] for name in (
        "usd_per_hour", "prompt_seconds", "pass_seconds", "batch", "tensor_parallel"))
    busy = paid_utilization(requests_per_month, replica_seconds(alone, step, size, output), found["rented_gpus"], degree)
    return found.assign(paid_utilization=busy, input_usd_per_million=input_usd_per_million(rate, alone, prompt, degree, busy),
                        output_usd_per_million=output_usd_per_million(rate, step, size, degree, busy))


def break_even_plans(points, book, term, api_request_usd, answer_limit, late_share=0.05, peak_factor=1):
    """For each GPU and degree the fewest requests a month from which full-time servers cost less than an API and still answer
    in time. GPUs that no number of servers up to the last of SERVERS makes cheaper are left out.
    """
    possible = points[(points["batch"] <= points["places"]) & (points["request_seconds"] < answer_limit)]
    found = possible.merge(servers(book, term), on="gpu").merge(pd.DataFrame({"servers": SERVERS}), how="cross")
    found = found[found["gpus_per_server"] >= found["tensor_parallel"]]
    replicas = found["servers"] * floor(found["gpus_per_server"] / found["tensor_parallel"])
    paid = serving_usd_per_month(found["usd_per_hour"], found["servers"] * found["gpus_per_server"])
    size, time = found["batch"], found["request_seconds"]
    carried = carried_requests_per_month(replicas, size, spare_places(time, answer_limit, late_share), time, peak_factor)
    found = found.assign(replicas=replicas, serving_usd_per_month=paid, carried_requests_per_month=carried,
                         break_even_requests_per_month=break_even_requests_per_month(paid, api_request_usd))
    found = found[found["carried_requests_per_month"] >= found["break_even_requests_per_month"]]
    found = found.sort_values(["break_even_requests_per_month", "batch"], kind="stable")
    return found.drop_duplicates(["gpu", "tensor_parallel"]).reset_index(drop=True)
