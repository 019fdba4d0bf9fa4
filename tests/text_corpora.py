"""Texts that ask to be read in one way: known answers for the choice of text settings."""

import random

NOUNS = ["talo", "metsä", "kala", "lintu", "koulu", "kirja", "auto", "juna", "laiva", "sota"]
NOUNS += ["runo", "satama", "kuva", "laulu", "peli", "tuli", "saha", "silta", "hylje", "muna"]
CASES = ["", "n", "ssa", "sta", "lla", "lta", "lle", "ksi", "na", "tta"]
FRAMES = [
    "Tutkimus siitä, mitä {} merkitsee suomalaisille ihmisille nykyään",
    "Kirjoituksia menneisyydestä: {} ja sen vaikutukset yhteiskunnassa",
    "Miksi {} on niin tärkeä asia meille kaikille?",
]


def inflected(noun, chance):
    case = chance.choice(CASES)
    return noun + (case.replace("a", "ä") if "ä" in noun else case)


def finnish(n=260, seed=0):
    """Titles in which each word comes in many forms, and the label is the word."""
    chance = random.Random(seed)
    nouns = [chance.choice(NOUNS) for _ in range(n)]
    texts = [chance.choice(FRAMES).format(inflected(noun, chance)) for noun in nouns]
    return texts, [[noun] for noun in nouns]


def titled(n=260, seed=0):
    """A title of one word, and a body that mentions others more often."""
    chance = random.Random(seed)
    words = [f"w{i}" for i in range(12)]
    titles = [chance.choice(words) for _ in range(n)]
    bodies = [" ".join(chance.choices(words, k=8)) for _ in range(n)]
    return [f"{a}\n{b}" for a, b in zip(titles, bodies, strict=True)], [[t] for t in titles]


class UnreadTexts(list):
    """A list of one text that nobody may read."""

    def __init__(self):
        super().__init__(["a text"])

    def __iter__(self):
        raise AssertionError("a text was read")

    __getitem__ = __iter__
