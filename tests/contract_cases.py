"""What models are put through the contract with."""

from functools import cached_property

import llm_server
from labelgrove.models.contract import Case


class Few(Case):
    """One with fewer documents to learn from, for checks that do not ask how much is learned."""

    @cached_property
    def train(self):
        X, Y = super().train
        return X[:90], Y[:90]  # several batches, the last one not full, and every label


# these fit more than once, and do not ask how much is learned
FEW = {"odd_labels_are_learned", "interrupted_training_goes_on"}


def settings_of_the_tests(name):
    """Return settings that a model needs beside its own examples: what only the tests can have.

    ``rerank`` asks a server, which its `example_settings` cannot start: a real one on this machine
    answers it.
    """
    return {"url": llm_server.shared().url, "model": "stand-in"} if name == "rerank" else {}
