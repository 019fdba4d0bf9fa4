"""What the tests of searches share."""

import pytest

from labelgrove.models.contract import known_answer


@pytest.fixture(scope="session")
def corpus():
    """Texts with labels, enough to be judged by a part of them."""
    return known_answer(400)
