"""Parts of an exported network against what they stand for."""

import numpy as np
import pytest
import torch
from torch import nn

from labelgrove.evaluation import Calibration
from labelgrove.models.neural.onnx_file import CalibrationCurve, OnnxLstm
from labelgrove.models.neural.readers.word_networks import BiLSTM


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 200])
def test_calibration_is_that_of_the_tagger(n):
    random = np.random.default_rng(n)
    x, y = np.sort(random.random(n)), np.sort(random.random(n))
    scores = np.concatenate([random.random(500), x, [0.0, 1.0]]).astype(np.float32)
    found = CalibrationCurve(x, y)(torch.from_numpy(scores)).numpy()
    np.testing.assert_array_equal(found, Calibration(x, y).apply(scores))


def test_weights_of_a_recurrent_layer_are_in_the_order_of_onnx():
    layer = nn.LSTM(2, 3, batch_first=True)
    found = OnnxLstm(layer)
    gates = layer.weight_ih_l0.detach().reshape(4, 3, 2)  # input, forget, cell, output
    assert torch.equal(found.w[0].reshape(4, 3, 2), gates[[0, 3, 1, 2]])
    biases = [layer.bias_ih_l0.detach(), layer.bias_hh_l0.detach()]
    wanted = torch.cat([each.reshape(4, 3)[[0, 3, 1, 2]].flatten() for each in biases])
    assert torch.equal(found.b[0], wanted)
    assert BiLSTM(2, 3).onward.batch_first  # what the exported operation is told to undo
