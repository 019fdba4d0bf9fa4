"""The page of a search for settings: what was tried, what mattered, what is best."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from labelgrove.core.extras import need
from labelgrove.core.ranges import Choice, as_text
from labelgrove.core.wording import several
from labelgrove.report.circumstances import made_with
from labelgrove.report.figures import FAINT, INK, SERIES, drawn, grouped
from labelgrove.report.page import Section, beside, captioned, page, paragraph, text
from labelgrove.report.tables import Table
from labelgrove.report.wording import duration, named
from labelgrove.tuning import Search, Trial
from labelgrove.tuning.study import ENOUGH

SHOWN = 6  # settings whose scores are drawn
ROWS = 200  # trials that are listed
TELLING = re.compile(r"(P|nDCG|PSP)@\d+|(micro|macro)-F1")  # metrics that are shown


def search_report(search: Search, command: str = "") -> str:
    """Return a page about a search.

    Parameters
    ----------
    found
        What it found.
    command
        By which it was made, if any.
    """
    sections = [
        _best(search),
        _history(search),
        _importances(search),
        _by_setting(search),
        _trials(search),
        Section("How this was made", made_with(command, _facts(search))),
    ]
    title = f"Settings of {search.space.model}, searched"
    return page(title, sections, lead=_lead(search))


def _lead(search: Search) -> str:
    best, default, name = search.best, search.default, search.metric.name
    assert best.score is not None
    said = f"The best of {several(len(search.trials), 'trial')} has {name} {_score(best.score)}%"
    if default is not None and default.score is not None:
        gain = 100 * (best.score - default.score)
        said += f", the default settings {_score(default.score)}% ({gain:+.2f} points)"
    judges = several(search.facts.get("documents to judge by", 0), "held-out document")
    warning = (
        f"The best was selected by the score on the same {judges}, so this score is optimistic: "
        "part of the gain is luck. Only documents that had no part in the search tell what it is "
        "worth."
    )
    return paragraph(f"{said}.") + paragraph(warning, kind="note")


def _best(search: Search) -> Section:
    start = search.space.start
    rows, bold = [], set()
    for number, (key, value) in enumerate(search.best.values.items()):
        rows.append([key, as_text(start[key]), _value(value), str(search.space.ranges[key])])
        if as_text(value) != as_text(start[key]):
            bold.add((number, 2))
    table = Table(["setting", "default", "best", "searched"], rows, words=4, bold=bold)
    scores = ""
    if search.default is not None:
        default = search.default.scores
        rows = [
            [name, _score(default[name]), _score(value), f"{100 * (value - default[name]):+.2f}"]
            for name, value in search.best.scores.items()
            if name in default and (name == search.metric.name or TELLING.fullmatch(name))
        ]
        title = "Scores on the held-out documents"
        scores = Table(["%", "default", "best", "difference"], rows, title=title).html()
    return Section("Best settings", table.html() + scores)


def _history(search: Search) -> Section:
    done = [trial for trial in search.trials if trial.score is not None]
    pruned = [trial for trial in search.trials if trial.state == "pruned"]

    def draw(axes: Any) -> None:
        numbers = [trial.number for trial in done]
        scores = [100 * (trial.score or 0.0) for trial in done]
        axes.plot(numbers, scores, "o", color=SERIES[0], label="finished")
        axes.step(numbers, _running(scores, search), where="post", color=SERIES[1],
                  label="best so far")  # fmt: skip
        if pruned:  # they have no score: they stand at the bottom
            axes.plot([trial.number for trial in pruned], [0.03] * len(pruned), "x", color=INK,
                      label="pruned", transform=axes.get_xaxis_transform())  # fmt: skip
        axes.set_xlabel("trial")
        axes.set_ylabel(f"{search.metric.name}, %")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0)

    caption = "Score of each trial, and the best so far; numbers of interrupted trials are missing."
    counts = (
        f"{several(search.count('finished'), 'trial')} finished, {search.count('pruned')} given up "
        f"early (pruned), {search.count('failed')} failed."
    )
    return Section(
        "History", paragraph(counts) + captioned(drawn(draw, label=caption), text(caption))
    )


def _running(scores: Sequence[float], search: Search) -> list[float]:
    """Return the best score up to each."""
    best = min if search.metric.less_is_better else max
    return [best(scores[: number + 1]) for number in range(len(scores))]


def _importances(search: Search) -> Section:
    if not search.importances:
        few = f"{several(ENOUGH, 'finished trial')} or more can tell which settings mattered."
        return Section("What mattered", paragraph(few, kind="quiet"))
    keys = list(search.importances)[::-1]

    def draw(axes: Any) -> None:
        axes.barh(keys, [100 * search.importances[key] for key in keys], color=SERIES[0])
        axes.set_xlabel("share of the importance, %")
        axes.grid(visible=False, axis="y")

    caption = (
        "How much each setting decides whether a trial is among the best (PED-ANOVA, Watanabe et "
        "al. 2023), within the ranges that were searched."
    )
    figure = drawn(draw, label=caption, height=90 + 22 * len(keys))
    note = paragraph("With few trials this is a hint, not a measurement.", kind="quiet")
    return Section("What mattered", captioned(figure, text(caption)) + note)


def _by_setting(search: Search) -> Section:
    keys = list(search.importances or search.space.ranges)[:SHOWN]
    figures = []
    for key in keys:
        caption = f"{search.metric.name} against {key}; the best trial is marked."
        figure = drawn(lambda axes, key=key: _scatter(axes, search, key), label=caption)  # type: ignore[misc]
        figures.append(captioned(figure, text(caption)))
    return Section("Score by setting", beside(figures))


def _scatter(axes: Any, search: Search, key: str) -> None:
    done = [trial for trial in search.trials if trial.score is not None]
    searched = search.space.ranges[key]
    known = [as_text(value) for value in searched.values] if isinstance(searched, Choice) else []

    def place(trial: Trial) -> Any:
        value = trial.values[key]
        if not known:
            return value
        if as_text(value) not in known:  # the default may lie outside
            known.append(as_text(value))
        return known.index(as_text(value))

    shown = [trial for trial in done if known or isinstance(trial.values[key], int | float)]
    axes.plot(list(map(place, shown)), [100 * (t.score or 0) for t in shown], "o", color=SERIES[0])
    if search.best in shown:
        axes.plot([place(search.best)], [100 * (search.best.score or 0)], "o", color=SERIES[1],
                  markersize=8)  # fmt: skip
    if known:
        axes.set_xticks(range(len(known)), [named(each, 16) for each in known])
        axes.set_xlim(-0.5, len(known) - 0.5)
    elif not isinstance(searched, Choice) and searched.log:
        _logarithmic(axes)
    axes.set_xlabel(key)
    axes.set_ylabel(f"{search.metric.name}, %")
    axes.axhline(100 * (search.best.score or 0), color=FAINT, linewidth=1)


def _logarithmic(axes: Any) -> None:
    """Show numbers by their logarithm, as plain numbers."""
    ticker = need("matplotlib.ticker", "report", "a report with figures")
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(grouped)
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())


def _trials(search: Search) -> Section:
    keys = list(search.space.ranges)
    ranked = sorted(search.trials, key=lambda trial: _rank(trial, search))
    rows = [
        [
            str(trial.number) + (" (default)" if trial.default else ""),
            _state(trial),
            "–" if trial.score is None else _score(trial.score),
            duration(trial.seconds) if trial.seconds else "–",
            *(_value(trial.values[key]) for key in keys),
        ]
        for trial in ranked[:ROWS]
    ]
    columns = ["trial", "", f"{search.metric.name}, %", "time", *keys]
    table = Table(columns, rows, words=2, bold={(0, 2)}).html()
    more = len(ranked) - ROWS
    note = paragraph(f"{several(more, 'more trial')} are in trials.jsonl.") if more > 0 else ""
    return Section("All trials", table + note)


def _rank(trial: Trial, search: Search) -> tuple[float, int]:
    if trial.score is None:
        return math.inf, trial.number
    return (trial.score if search.metric.less_is_better else -trial.score), trial.number


def _state(trial: Trial) -> str:
    if trial.state == "failed":
        return f"failed: {named(trial.message)}"
    if trial.repeats is not None:
        return f"as trial {trial.repeats}"
    return trial.state


def _facts(search: Search) -> dict[str, str]:
    given = {key: value for key, value in search.facts.items() if not isinstance(value, dict)}
    facts = {key.capitalize(): f"{value:,}" if isinstance(value, int) else str(value)
             for key, value in given.items() if key != "labelgrove"}  # fmt: skip
    fixed = search.facts.get("settings") or {}
    if fixed:
        facts["Fixed"] = ", ".join(f"{key}={_value(value)}" for key, value in fixed.items())
    return {**facts, "Time of this call": duration(search.seconds)}


def _score(value: float) -> str:
    return f"{100 * value:.2f}"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else as_text(value)
