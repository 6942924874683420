"""How pages take choices in words."""
from book.components.parameters import page_case
from book.components.show import sources
from gpucalc import Case


def test_parameters_of_a_page_may_be_choices():
    held = {"term": "spot", "provider": None, "region": "any", "batch": 8, "In": ["", "term = 'on-demand'\nprovider: str = None\n"
                                                                                      "region: str = None\nbatch = 8"]}
    case = page_case(held)
    assert {kind: row.name for kind, row in case.rows.items()} == {"term": "spot", "region": "any"} and case.inputs == {"batch": 8}


def test_a_name_alone_is_no_source():
    case = Case(term="spot", model="Llama-3-8B")
    shown = sources(*case.rows.values()).source
    assert "spot" not in shown and "Llama-3-8B" in shown
