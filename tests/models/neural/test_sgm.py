"""SGM's global embedding, worked out step by step."""

import torch

from label_writers import END, reading, writer
from labelgrove.models.neural.scorers.label_writer import Written


def test_a_label_is_read_with_the_mean_of_all_by_how_probable_they_were():
    write, read = writer(mixes=True), reading()
    chances = torch.tensor([[0.1, 0.6, 0.1, 0.2], [0.7, 0.1, 0.1, 0.1]])
    last, vectors = torch.tensor([1, 2]), write.labels.weight
    begun = write.begin(read)
    written = Written(begun.state, last, begun.taken, chances)
    found = write.step(read, written)[0]
    for text in range(2):
        own = vectors[last[text]]
        mean = sum(chances[text, label] * vectors[label] for label in range(4))
        share = torch.sigmoid(write.gate(torch.cat([own, mean])))
        given = (1 - share) * own + share * mean
        outputs, _ = write.decoder.step(read, begun.state, given.expand(2, -1))
        wanted = write.output(outputs)[text].log_softmax(0)
        assert torch.allclose(found[text], wanted, atol=1e-5)


def test_the_first_step_reads_the_beginning_alone():
    write, read = writer(mixes=True), reading()
    begun = write.begin(read)
    given = write.labels.weight[END].expand(2, -1)
    outputs, _ = write.decoder.step(read, begun.state, given)
    wanted = write.output(outputs).log_softmax(1)
    assert torch.allclose(write.step(read, begun)[0], wanted, atol=1e-5)


def test_along_a_sequence_probabilities_are_those_of_the_step_before():
    write, read = writer(mixes=True), reading()
    ids = torch.tensor([[1, 0, END], [2, END, END]])
    along = write.along(read, ids, masked=True)
    written = write.begin(read)
    for place in range(3):
        found, state = write.step(read, written)
        assert torch.allclose(along[:, place], found, atol=1e-5)
        written = write.following(written, found.exp(), state, ids[:, place])
    assert torch.isinf(along[0, 2, [0, 1]]).all()  # learned with the mask, too
