"""The most memory that was held, since it was last asked to forget."""

import numpy as np
import pytest

from labelgrove.report.memory import peak_memory, reset_peak_memory


def test_the_peak_rises_with_what_is_held_and_can_be_forgotten():
    if not reset_peak_memory():
        pytest.skip("this system does not forget a peak")
    before = peak_memory()
    held = np.ones(16_000_000)  # 128 MB
    peak = peak_memory()
    assert before + 100e6 < peak < before + 200e6
    del held
    reset_peak_memory()
    assert peak_memory() < peak - 100e6
