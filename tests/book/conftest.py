"""Every picture that a test draws is looked at, whatever the test asks of it: it has to be legible."""

import pytest

from book.components.show import Html
from tests.pictures import faults


@pytest.fixture(autouse=True)
def legible_pictures(request):
    """A test marked `illegible` draws shapes alone, or a case whose words have no room."""
    made = Html.__init__

    def checked(self, source, plain):
        made(self, source, plain)
        assert faults(source) == [], plain

    with pytest.MonkeyPatch.context() as patch:
        if not request.node.get_closest_marker("illegible"):
            patch.setattr(Html, "__init__", checked)
        yield
