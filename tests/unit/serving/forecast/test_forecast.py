"""The closed form, the predictors, the scores and the table, by hand and as properties."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest, linregress

from serving.forecast.context import Course, ToolReturn, blocks, expected_tool_tokens, memory_bytes
from serving.forecast.predictors import PREDICTORS, Known, Prediction
from serving.forecast.regression import ridge
from serving.forecast.runs import Run, Turn, runs_of, split
from serving.forecast.scores import mean_interval, score, sign_test, variation
from serving.forecast.table import evaluate
from serving.forecast.target import kv_blocks, process_bytes
from serving.profile.catalog import find_model
from serving.profile.formats import KV_16BIT, KV_FP8
from serving.profile.memory import SequenceBytes, sequence_bytes

COURSE = Course(8_000, 40, 16_000, expected_tool_tokens([ToolReturn(20, 1_500), ToolReturn(0.5, 4_000)]))


def sequence_bytes_of(per_token: int) -> SequenceBytes:
    return SequenceBytes(per_token, 0, 0, 0)


def run(name: str = "r", base: int = 1000, peak: int = 5000, group: str = "g", steps: int = 4) -> Run:
    return Run(name, group, base, steps, 800, 3_000, 300, 1_200, peak)


# --- closed form ---------------------------------------------------------------------------------


def test_context_grows_evenly_to_its_peak() -> None:
    assert (COURSE.context_tokens(0), COURSE.context_tokens(10)) == (8_000, 20_000)
    assert COURSE.peak_tokens == 8_000 + 16_000 + 32_000
    with pytest.raises(ValueError, match="step 41"):
        COURSE.context_tokens(41)


@given(
    st.floats(0, 1e5),
    st.integers(0, 500),
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_context_never_shrinks(
    base: float, steps: int, grown: float, tools: float, first: float, second: float
) -> None:
    course = Course(base, steps, grown, tools)
    early, late = sorted((first * steps, second * steps))
    assert course.context_tokens(early) <= course.context_tokens(late) * (1 + 1e-12) + 1e-9
    assert course.context_tokens(late) <= course.peak_tokens * (1 + 1e-12) + 1e-9


@pytest.mark.parametrize(
    ("model", "kv", "per_token", "beside"),
    [
        ("llama-3.1-70b-fp8", KV_16BIT, 327_680, 0),
        ("qwen2.5-coder-32b", KV_16BIT, 262_144, 0),
        ("qwen3-coder-30b-a3b", KV_FP8, 49_152, 0),
        ("gpt-oss-120b", KV_16BIT, 36_864, 18 * 8 * 2 * 64 * 2 * 128),
    ],
)
def test_memory_at_the_peak_counts_kv_heads(model: str, kv: object, per_token: int, beside: int) -> None:
    shape = sequence_bytes(find_model(model, hub_cache="/nowhere").architecture, kv)  # type: ignore[arg-type]
    used = memory_bytes(COURSE, 40, shape, weights_bytes=7e9, activation_bytes=1e9)
    assert used == 8e9 + per_token * 56_000 + beside


def test_blocks_are_whole() -> None:
    assert [blocks(tokens, 16) for tokens in (0, 1, 16, 17)] == [0, 1, 1, 2]


# --- runs ----------------------------------------------------------------------------------------


def test_runs_are_put_together_from_turns() -> None:
    turns = [
        Turn("a", "coder", 2, 2_500, 100),
        Turn("a", "coder", 1, 1_000, 200),
        Turn("a", "coder", 3, 1_500, 50),  # compacted
        Turn("b", "tester", 1, 10, 1),
    ]
    first, second = runs_of(turns)
    assert first == Run("a", "coder", 1_000, 3, 350, 1_300, 200, 1_300, 2_600)
    assert (second.name, second.steps, second.peak_tokens) == ("b", 1, 11)


@given(st.lists(st.tuples(st.text(), st.sampled_from("abc")), unique_by=lambda pair: pair[0]), st.text())
def test_a_split_loses_nothing_and_is_the_same_again(names: list[tuple[str, str]], seed: str) -> None:
    runs = [run(name, group=group) for name, group in names]
    parts = split(runs, seed)
    again = split(reversed(runs), seed)
    assert parts == again
    every = [*parts.train, *parts.validation, *parts.test]
    assert sorted(every, key=lambda r: r.name) == sorted(runs, key=lambda r: r.name)
    for group in "abc":
        count = sum(r.group == group for r in runs)
        held = sum(r.group == group for r in parts.test)
        assert held <= 0.15 * count + 1
        assert not count or any(r.group == group for r in parts.train)


# --- predictors ----------------------------------------------------------------------------------

PEAKS = [(1000, 5000), (2000, 6500), (3000, 6900), (4000, 9100), (5000, 9500)]
TRAIN = [run(str(i), base, peak) for i, (base, peak) in enumerate(PEAKS)]


def test_the_worst_case_by_hand() -> None:
    predict = PREDICTORS["B0"](Known([*TRAIN, run("long", steps=10)]))
    assert predict(run(base=500)).point == 500 + 10 * 300 + 9 * 1_200
    bounded = PREDICTORS["B0"](Known(TRAIN, limit_tokens=4_096))(run(base=500))
    assert bounded == (4_096, 4_096)


def test_the_line_is_least_squares() -> None:
    theirs = linregress(*zip(*PEAKS, strict=True))
    found = PREDICTORS["B1"](Known(TRAIN))(run(base=2_500))
    assert found.point == pytest.approx(theirs.intercept + theirs.slope * 2_500)
    residuals = sum((y - theirs.intercept - theirs.slope * x) ** 2 for x, y in PEAKS)
    assert found.upper - found.point == pytest.approx(1.96 * (residuals / 3) ** 0.5)


def test_a_group_has_its_own_level() -> None:
    raised = [replace(r, group="h", peak_tokens=r.peak_tokens + 10_000, name=f"h{r.name}") for r in TRAIN]
    predict = PREDICTORS["B2"](Known([*TRAIN, *raised]))
    low, high = predict(run(base=2_500)), predict(run(base=2_500, group="h"))
    assert high.point - low.point == pytest.approx(10_000)
    unseen = predict(run(base=2_500, group="never"))
    assert low.point < unseen.point < high.point


def test_the_mean_and_the_yardstick() -> None:
    mean = PREDICTORS["B3"](Known(TRAIN))(run())
    assert mean.point == 7_400
    assert mean.upper == pytest.approx(7_400 + 1.96 * (sum((y - 7_400) ** 2 for _, y in PEAKS) / 4) ** 0.5)
    assert PREDICTORS["B5"](Known(TRAIN))(run(base=700)) == (1_500, 1_500)


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_what_never_varies_is_forecast_exactly(base: int, peak: int) -> None:
    known = Known([run(str(i), base, peak) for i in range(6)])
    for name in ("B1", "B2", "B3"):
        assert PREDICTORS[name](known)(run(base=base)) == pytest.approx((peak, peak))


def test_ridge_without_a_penalty_to_speak_of_is_least_squares() -> None:
    rows = [(x, (x * 7) % 5, 1.0) for x in range(12)]
    values = [3 + 2 * x - y for x, y, _ in rows]
    found = ridge(rows, values, 1e-9)
    assert [found(row) for row in rows] == pytest.approx(values)
    assert found((100, 2, 1.0)) == pytest.approx(201)
    level = sum(values) / len(values)
    assert ridge(rows, values, 1e12)((100, 2, 1.0)) == pytest.approx(level, rel=1e-6)


def test_features_are_learned_from_and_the_penalty_is_chosen_by_validation() -> None:
    def known(number: int) -> Run:
        base = run(str(number), peak=1_000 + 50 * (number % 7))
        return replace(base, features=(float(number % 7), float(number * 13 % 11)))

    predict = PREDICTORS["B2"](Known([known(n) for n in range(40)], validation=[known(n) for n in range(5)]))
    assert predict(known(4)).point == pytest.approx(1_200, rel=0.01)


def test_targets_by_hand() -> None:
    blocks_of = kv_blocks(32)
    assert (blocks_of.truth(run(peak=65)), blocks_of.of_tokens(64)) == (3, 2)
    memory = process_bytes(sequence_bytes_of(23_040), 2e9)
    assert memory.of_tokens(1_000) == 2e9 + 23_040_000
    assert memory.truth(replace(run(), process_bytes=7)) == 7
    found = PREDICTORS["B5"](Known(TRAIN, target=memory))(run(base=700))
    assert found.point == 2e9 + 1_500 * 23_040


# --- scores --------------------------------------------------------------------------------------


def test_scores_by_hand() -> None:
    found = score([Prediction(90, 110), Prediction(220, 240), Prediction(100, 300)], [100, 200, 400])
    assert found.mape == pytest.approx((0.1 + 0.1 + 0.75) / 3)
    assert found.mae == pytest.approx(330 / 3)
    assert found.undercoverage == pytest.approx(1 / 3)
    assert found.over_allocation == pytest.approx(50 / 700)
    with pytest.raises(ValueError, match="positive"):
        score([], [])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=60))
def test_the_sign_test_is_exact_and_symmetric(pairs: list[tuple[int, int]]) -> None:
    first, second = [float(a) for a, _ in pairs], [float(b) for _, b in pairs]
    found, turned = sign_test(first, second), sign_test(second, first)
    assert found.better + found.worse + found.ties == len(pairs)
    assert (found.better, found.worse, found.p) == (turned.worse, turned.better, turned.p)
    assume(found.better + found.worse > 0)
    assert found.p == pytest.approx(binomtest(found.better, found.better + found.worse).pvalue)


def test_nothing_but_ties_is_undefined() -> None:
    assert sign_test([1.0, 2.0], [1.0, 2.0]).p is None
    assert sign_test([0.0] * 5000, [1.0] * 5000).p == 0  # 2^-4999 is under what a float holds


def test_variation_by_hand() -> None:
    """Groups 1, 3 and 5, 7: total 20, between 16."""
    found = variation({"a": [1, 3], "b": [5, 7]})
    assert found.eta_squared == pytest.approx(16 / 20)
    assert found.cv == pytest.approx((20 / 3) ** 0.5 / 4)
    assert found.overdispersion == pytest.approx(20 / 3 / 4)
    assert variation({"a": [2, 2]}).eta_squared is None


@given(st.dictionaries(st.text(max_size=3), st.lists(st.floats(1, 1e6), max_size=9), max_size=5))
def test_shares_of_variance_are_shares(values: dict[str, list[float]]) -> None:
    assume(sum(map(len, values.values())) > 1)
    found = variation(values)
    assert found.eta_squared is None or 0 <= found.eta_squared <= 1


# --- the table -----------------------------------------------------------------------------------


def test_a_regression_that_pays_is_recommended() -> None:
    runs = [run(str(i), 1_000 * i + 1_000, 2_000 * i + 3_000 + i % 3) for i in range(60)]
    table = evaluate(runs, seed="0")
    assert table.runs == (42, 9, 9)
    assert table.recommended in ("B1", "B2")
    rows = {row.predictor: row for row in table.rows}
    assert rows["B3"].against_mean.p is None
    assert rows["B1"].score.mape < 0.001 < rows["B3"].score.mape


def test_noise_recommends_the_mean() -> None:
    runs = [run(str(i), 1_000 + i * 37 % 11, 5_000 + i * 7919 % 997) for i in range(60)]
    assert evaluate(runs, seed="0").recommended == "B3"


def test_few_runs_are_refused() -> None:
    with pytest.raises(ValueError, match="19 runs are too few"):
        evaluate([run(str(i)) for i in range(19)], seed="0")


def test_an_interval_holds_the_mean_and_widens_with_fewer_clusters() -> None:
    values = [float(number * 37 % 101) for number in range(120)]
    alone = mean_interval([[value] for value in values], "s")
    together = mean_interval([values[at : at + 30] for at in range(0, 120, 30)], "s")
    mean = sum(values) / len(values)
    assert alone[0] < mean < alone[1] and together[0] <= mean <= together[1]
    normal = 1.96 * (sum((v - mean) ** 2 for v in values) / 119) ** 0.5 / 120**0.5
    assert (alone[1] - alone[0]) / 2 == pytest.approx(normal, rel=0.1)
    assert mean_interval([[value] for value in values], "s") == alone
    assert mean_interval([[2.0], [2.0, 2.0]], "s") == (2.0, 2.0)
    with pytest.raises(ValueError, match="clusters"):
        mean_interval([], "s")
