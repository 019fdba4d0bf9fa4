"""Something small for networks to learn; importable, so that other processes find it too."""

import os
import signal
from pathlib import Path

import numpy as np
import torch
from torch import nn

from labelgrove.models.neural.training.devices import join_fabric
from labelgrove.models.neural.training.loop import Objective
from labelgrove.models.neural.training.settings import Training


class Line(Objective):
    """y = 2 x - 1 with dropout, so that the random state matters."""

    def __init__(self, poison=None, n=40):
        self.x = torch.linspace(-1, 1, n)[:, None]
        self.poison, self.seen, self.stop_at = poison, [], None

    @property
    def n_validation(self):
        return 4

    def batches(self, epoch):
        order = np.random.default_rng(epoch).permutation(len(self.x))
        return np.split(order, range(8, len(order), 8))

    def loss(self, network, rows):
        self.seen.append(rows.tolist())
        if self.stop_at == len(self.seen):
            os.kill(os.getpid(), signal.SIGINT)
        loss = (network(self.x[rows]) - 2 * self.x[rows] + 1).square().mean()
        return loss * torch.nan if self.poison == len(self.seen) else loss

    def score(self, network):
        return -float((network(self.x) - 2 * self.x + 1).square().mean())


class FragileLine(Line):
    """A line in whose fourteenth step the second process dies, the first time that it comes by."""

    def __init__(self, mark, n):
        super().__init__(n=n)
        self.mark = mark

    def loss(self, network, rows):
        if len(self.seen) == 13 and os.environ.get("RANK") == "1":
            try:
                Path(self.mark).touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
            except FileExistsError:
                pass
        return super().loss(network, rows)


class Table(nn.Module):
    """A line with an offset for each sign of x, whose gradients are sparse."""

    def __init__(self):
        super().__init__()
        self.line = nn.Linear(1, 1)
        self.offsets = nn.Embedding(2, 1, sparse=True)

    def forward(self, x):
        return self.line(x) + self.offsets((x[:, 0] > 0).long())


class Layers(nn.Sequential):
    """Layers that are used in another order than they were made in."""

    def __init__(self):
        torch.manual_seed(0)
        last, first, middle = nn.Linear(300, 400), nn.Linear(50, 300), nn.Linear(300, 300)
        super().__init__(last, first, middle)

    def forward(self, x):
        last, first, middle = self
        return last(torch.relu(middle(torch.relu(first(x)))))


def gradients_of_a_step(rank, folder, size):
    """Save the gradients of a second step, and of the same one where it is the first."""
    facts = {"RANK": rank, "WORLD_SIZE": size, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": size}
    os.environ |= {name: str(value) for name, value in facts.items()}
    torch.set_num_threads(1)
    store = torch.distributed.FileStore(str(folder / "store"), size)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=size)
    for steps in ((0, 1), (1,)):
        gradients = _gradients(rank, steps)
        if rank == 0:
            torch.save(gradients, folder / f"after-{len(steps)}")
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def _gradients(rank, steps):
    fabric, network = join_fabric(Training(device="cpu")), Layers()
    shared = fabric.setup(network)
    for step in steps:
        torch.manual_seed(100 * step + rank)
        network.zero_grad()
        fabric.backward(shared(torch.randn(8, 50)).square().mean())
    return torch.cat([each.grad.flatten() for each in network.parameters()])
