"""Documents that are remembered, and which of them are like a text."""

from labelgrove.models.neighbours.memory import Memory, Nearest
from labelgrove.models.neighbours.neighbourhood import Neighbourhood

__all__ = ["Memory", "Nearest", "Neighbourhood"]
