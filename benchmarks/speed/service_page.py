"""The page of what service.py measured, from its lines of results."""

from __future__ import annotations

import statistics
from typing import Any

from steady_load import CLIENTS, SHARE, behind, wrong

OURS, ONE, ANNIF = "labelgrove, 2 workers", "labelgrove, 1 worker", "Annif"
FASTER = 5.0  # the goal: so many times the answers of Annif, and a lower 99th percentile
QUIET = 0.1  # of a core: what others may take
WARM = 0.2  # share of the long run after which memory should be flat

Line = dict[str, Any]

TOLD = """\
**How.** Server and load generator share the machine and talk over loopback. The generator
(`load.py`) is one Python process with prebuilt requests, plain sockets and epoll, the same for
both; connections are kept, and every client asks again as soon as it is answered. Clients connect
one after another while those before are asking already: workers that share a listening socket
otherwise get very unequal numbers of connections. Each point is the median of {turns} turn(s) of
{seconds:g} s, after a second of warming up; the systems take turns within every number of clients,
and those not asked are idle.

**What is asked.** One text a request, ten labels: 2,000 texts of debtags' test set, drawn
with a fixed seed, the same for both. labelgrove: `POST /v1/tag` with JSON, bonsai in its default
settings, `labelgrove serve DIR --workers 2` (and 1) with its log of requests on. Annif:
`POST /v1/projects/PROJECT/suggest` with a form, its omikuji backend as its wiki configures it for
Bonsai or Parabel, with `analyzer=snowball(english)`, trained on the same documents.

**CPU ms** is the processor time of all processes of the server by the number of answers. It is the
cleaner figure: generator and server share two cores, so that the faster a server is, the more the
generator takes from it. *Generator* is the share of one core that the generator took.
"""


def report(lines: list[Line]) -> str:
    """Return the page."""
    parts = [_speed(_last(lines, "speed")), _memory(_last(lines, "memory"))]
    parts.append(_soak(_last(lines, "soak")))
    begun = [line for line in lines if line["part"] == "begin"]
    versions = max(begun, key=lambda line: len(line["machine"]))
    head = [
        "# The service: labelgrove against Annif, memory, and a long run",
        "",
        f"{versions['machine']} Made with `python benchmarks/speed/service.py --data DIR --work "
        "DIR --annif VENV`, and `--soak 10` after it.",
        "",
    ]
    return "\n".join(head + [line for part in parts for line in part]).rstrip() + "\n"


def _last(lines: list[Line], what: str) -> list[Line]:
    """Return the lines of the last run of some kind."""
    found: list[Line] = []
    inside = False
    for line in lines:
        if line["part"] == "begin":
            inside = line["what"] == what
            found = [] if inside else found
        elif inside:
            found.append(line)
    return found


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return [f"| {' | '.join(line)} |" for line in lines] + [""]


def _of(lines: list[Line], part: str) -> list[Line]:
    return [line for line in lines if line["part"] == part]


# --- against Annif ------------------------------------------------------------------------------


def _point(lines: list[Line]) -> dict[str, float]:
    """Return the medians of the turns of a point."""
    each = [
        {
            "rate": line["a_second"],
            "p50": 1e3 * line["times"]["p50"],
            "p99": 1e3 * line["times"]["p99"],
            "cpu": 1e3 * line["server_cpu"] / line["answered"],
            "own": 100 * line["own_cpu"] / line["seconds"],
        }
        for line in lines
    ]
    return {key: statistics.median(one[key] for one in each) for key in each[0]}


def _points(lines: list[Line]) -> dict[str, dict[int, dict[str, float]]]:
    grouped: dict[str, dict[int, list[Line]]] = {}
    for line in _of(lines, "speed"):
        grouped.setdefault(line["system"], {}).setdefault(line["clients"], []).append(line)
    return {
        system: {clients: _point(each) for clients, each in points.items()}
        for system, points in grouped.items()
    }


def _speed(lines: list[Line]) -> list[str]:
    points = _points(lines)
    if not points:
        return []
    timed = _of(lines, "speed")
    turns = len({line["turn"] for line in timed})
    seconds = statistics.median(line["seconds"] for line in timed)
    told = ["## Answers a second", "", TOLD.format(turns=turns, seconds=round(seconds, 1))]
    told += _quality(lines) + _ways(lines)
    for system in (OURS, ANNIF, ONE):
        if system in points:
            rows = [
                [
                    str(clients),
                    f"{each['rate']:,.0f}",
                    *(f"{each[key]:,.1f}" for key in ("p50", "p99")),
                    f"{each['cpu']:.2f}",
                    f"{each['own']:.0f} %",
                ]
                for clients, each in points[system].items()
            ]
            head = ["clients", "answers/s", "p50 ms", "p99 ms", "CPU ms", "generator"]
            told += [f"### {system}", "", *_table(head, rows)]
    total = sum(n for line in timed for _, _, n in line["outcomes"])
    other = sum(n for line in timed for _, status, n in line["outcomes"] if status != "200")
    told += [f"Of {total:,} requests, {other:,} were not answered with 200. {_others(timed)}", ""]
    return told + (_goal(points) if ANNIF in points else [])


def _others(timed: list[Line]) -> str:
    """Tell how much of the machine others took, and what that means."""
    shares = [x["others_cpu"] / x["seconds"] for x in timed if "others_cpu" in x]
    if not shares:
        return ""
    share = statistics.median(shares)
    told = f"What else ran on the machine took {share:.2f} of its cores meanwhile (the median)."
    if share <= QUIET:
        return told
    return f"{told} **That is too much: these figures are provisional.**"


def _quality(lines: list[Line]) -> list[str]:
    scores = {line["system"]: line for line in _of(lines, "quality")}
    sizes = {line["system"]: line["bytes"] for line in _of(lines, "size")}
    taken = {line["system"]: line for line in _of(lines, "taken")}
    rows = []
    for system, line in scores.items():
        used = taken.get(system) or taken.get(OURS, {})
        row = [system, *(f"{100 * line[f'P@{k}']:.1f}" for k in (1, 3, 5))]
        row += [f"{line['places']:.1f}", f"{sizes[system] / 1e6:.1f}"]
        rows.append([*row, f"{used['pss'] / 1e6:,.0f}" if used else ""])
    told = (
        "Both do the same job: P@k in per cent of the labels received over HTTP for the first "
        f"{max(line['texts'] for line in scores.values()):,} of these texts; "
        "the trained model on disk (Annif's with its cached training file); memory of all "
        "processes after the run (PSS), labelgrove with two workers (right after an install each "
        "compiles its kernels once, which leaves it some 100 MB more until it is started anew)."
    )
    head = ["system", "P@1", "P@3", "P@5", "labels an answer", "on disk MB", "memory MB"]
    return [told, "", *_table(head, rows)]


def _ways(lines: list[Line]) -> list[str]:
    ways = _of(lines, "way")
    if not ways:
        return []
    rows = []
    for line in ways:
        point = _point([line])
        row = [line["way"], f"{point['rate']:,.0f}", f"{point['p50']:.1f}", f"{point['p99']:.1f}"]
        rows.append([*row, f"{point['cpu']:.2f}"])
    best = _of(lines, "best way")[-1]["way"]
    told = (
        "Annif's documentation serves it by gunicorn with uvicorn workers, and names no number of "
        f"them. Ways that were tried with {ways[0]['clients']} clients, one turn each; the best is "
        f"what is compared: {best}."
    )
    return [told, "", *_table(["Annif", "answers/s", "p50 ms", "p99 ms", "CPU ms"], rows)]


def _goal(points: dict[str, dict[int, dict[str, float]]]) -> list[str]:
    rows, short = [], []
    for clients, ours in points[OURS].items():
        theirs = points[ANNIF][clients]
        rate, p99 = ours["rate"] / theirs["rate"], ours["p99"] / theirs["p99"]
        cpu = theirs["cpu"] / ours["cpu"]
        marks = ["" if rate >= FASTER else " (short)", "" if p99 < 1 else " (short)"]
        row = [str(clients), f"{rate:.1f}{marks[0]}", f"{p99:.2f}{marks[1]}"]
        rows.append([*row, f"{cpu:.1f}"])
        if any(marks):
            short.append(str(clients))
    most = {name: max(each["rate"] for each in points[name].values()) for name in (OURS, ANNIF)}
    ratio = most[OURS] / most[ANNIF]
    verdict = (
        f"At its best number of clients each, labelgrove answers {most[OURS]:,.0f} requests a "
        f"second and Annif {most[ANNIF]:,.0f}: {ratio:.1f} times as many"
        f"{'' if ratio >= FASTER else ' (short)'}. "
    )
    verdict += (
        f"The goal is missed with {', '.join(short)} clients."
        if short
        else "The goal is met with every number of clients."
    )
    head = ["clients", "answers/s, ratio", "p99, ratio", "CPU a request, times less"]
    told = f"The goal: at least {FASTER:g} times Annif's answers a second, at a lower p99."
    return ["### Against the goal", "", told, "", *_table(head, rows), verdict, ""]


# --- memory -------------------------------------------------------------------------------------


def _memory(lines: list[Line]) -> list[str]:
    lines = _of(lines, "memory")
    if not lines:
        return []
    rows, sums = [], {}
    for line in lines:
        workers = sorted(line["each"], key=lambda one: -one["rss"])[: line["workers"]]
        total = {key: sum(one[key] for one in line["each"]) for key in ("rss", "pss")}
        sums[line["workers"]] = total["pss"]
        mean = {key: statistics.fmean(one[key] for one in workers) for key in ("pss", "uss")}
        mapped = line["mapped"]
        figures = [total["rss"], total["pss"], mapped["rss"], mapped["pss"], mean["pss"]]
        figures.append(mean["uss"])
        rows.append([str(line["workers"]), *(f"{each / 1e6:,.0f}" for each in figures)])
    more = (sums[4] - sums[2]) / 2 / 1e6
    told = (
        f"Bonsai on finna, {lines[0]['bytes'] / 1e6:,.0f} MB on disk, after six seconds of 64 "
        "clients; MB. *All*: every process of the server; from two workers on also the one that "
        "watches over them. *Tagger*: its files, as far as they are mapped. RSS counts shared "
        "pages in every process; PSS shares them out, so that its sum is what is taken; USS is "
        "what a worker holds alone."
    )
    head = [
        *("workers", "all, RSS", "all, PSS", "tagger, RSS", "tagger, PSS"),
        *("each worker, PSS", "each worker, USS"),
    ]
    end = (
        f"The tagger is in memory once, however many workers there are. A worker beyond the second "
        f"takes {more:,.0f} MB, which are the interpreter's, the libraries' and what is compiled."
    )
    return ["## Memory", "", told, "", *_table(head, rows), end, ""]


# --- the long run -------------------------------------------------------------------------------


def _soak(lines: list[Line]) -> list[str]:
    done, end = _of(lines, "soak done"), _of(lines, "soak end")
    if not done or not end:
        return []
    found, last, trial = done[-1], end[-1], _of(lines, "capacity")[-1]
    right = last["right"]
    outcomes = found["outcomes"] + found["late"]
    failed = [each for each in outcomes if each[1].startswith("5")]
    unexpected = wrong(outcomes, right)
    answered = sum(n for _, status, n in outcomes if status.isdigit())
    told = (
        f"Two workers on debtags, {found['seconds'] / 60:.0f} minutes. In a closed loop with "
        f"{CLIENTS} clients the mix below is answered {trial['a_second']:,.0f} times a second; the "
        f"long run asks {SHARE:.0%} of that, {found['rate']:,.0f} a second, in an open loop: "
        "requests are due at even intervals whether or not earlier ones are answered, and their "
        "time counts from then. Clients that leave, stall or send what is not HTTP open "
        "connections of their own, and are not timed."
    )
    times = found["times"]
    facts = [
        f"{answered:,} answers, p50 {1e3 * times['p50']:.1f} ms, p99 {1e3 * times['p99']:.1f} ms, "
        f"p99.9 {1e3 * times['p999']:.1f} ms, longest {1e3 * times['max']:.0f} ms.",
        f"Answers of status 5xx: {sum(n for *_, n in failed):,}. Answers that should have been "
        f"others: {sum(unexpected.values()):,}"
        + (f" ({_told(unexpected)})." if unexpected else "."),
        f"Requests that were due and had no answer when the time was up: "
        f"{behind(outcomes, right):,}. {_others([found])}",
        f"Workers replaced: {last['replaced']}. Tracebacks in the log: {last['tracebacks']}. "
        f"Feedback answered: {last['feedback_answered']:,}; lines in its file: "
        f"{last['feedback_written']:,}.",
        _flat(_of(lines, "soak memory")),
    ]
    listed = [f"- {fact}" for fact in facts]
    return [
        *("## A long run", "", told, "", *listed, ""),
        *_kinds(outcomes, found["kinds"]),
        *_minutes(lines),
    ]


def _told(counts: Any) -> str:
    return ", ".join(f"{kind}: {status} {n:,} times" for (kind, status), n in counts.items())


def _flat(memory: list[Line]) -> str:
    """Tell how memory grew after warming up: a line of least squares."""
    kept = memory[int(WARM * len(memory)) :]
    if len(kept) < 3:
        return "Too short to tell whether memory is flat."
    at = [line["at"] / 60 for line in kept]
    pss = [line["pss"] / 1e6 for line in kept]
    slope = statistics.linear_regression(at, pss).slope
    files = [line["files"] for line in memory]
    return (
        f"Memory (PSS of all processes) after the first {WARM:.0%} of the time: "
        f"{pss[0]:.1f} MB at first, {pss[-1]:.1f} MB at last, {max(pss):.1f} MB at most; by least "
        f"squares {slope:+.2f} MB a minute. Open files: {min(files)} to {max(files)}."
    )


def _kinds(outcomes: list[list[Any]], kinds: dict[str, dict[str, float]]) -> list[str]:
    grouped: dict[str, dict[str, int]] = {}
    for kind, status, n in outcomes:
        counts = grouped.setdefault(kind, {})
        counts[status] = counts.get(status, 0) + n
    rows = []
    for kind, counts in sorted(grouped.items(), key=lambda each: -sum(each[1].values())):
        came = ", ".join(f"{status}: {n:,}" for status, n in sorted(counts.items()))
        times = kinds.get(kind, {})
        rows.append(
            [kind, came, *(f"{1e3 * times[k]:.1f}" if times else "" for k in ("p50", "p99"))]
        )
    return _table(["request", "what came back", "p50 ms", "p99 ms"], rows)


def _minutes(lines: list[Line]) -> list[str]:
    """Return memory and latency by the minute."""
    memory, load = _of(lines, "soak memory"), _of(lines, "soak")
    rows = []
    for minute in range(int(max(line["at"] for line in memory) // 60) + 1):
        sizes = [x for x in memory if x["at"] // 60 == minute]
        asked = [x for x in load if (x["at"] - 0.1) // 60 == minute and x["times"]]
        if not sizes or not asked:
            continue
        rss, pss = (statistics.median(x[key] for x in sizes) / 1e6 for key in ("rss", "pss"))
        rate = statistics.fmean(x["a_second"] for x in asked)
        p50, p99 = (
            1e3 * statistics.median(x["times"][key] for x in asked) for key in ("p50", "p99")
        )
        rows.append(
            [
                str(minute + 1),
                f"{rss:.1f}",
                f"{pss:.1f}",
                f"{rate:,.0f}",
                f"{p50:.1f}",
                f"{p99:.1f}",
            ]
        )
    told = "By the minute, medians of intervals of five seconds."
    head = ["minute", "RSS MB", "PSS MB", "answers/s", "p50 ms", "p99 ms"]
    return [told, "", *_table(head, rows)]
