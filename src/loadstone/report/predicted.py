"""Predicted rates in words."""

from __future__ import annotations

from loadstone.model.figure import Number
from loadstone.model.finding import Finding, Proof
from loadstone.model.message import Message, say, sentences
from loadstone.model.predicted import Foretold


def predicted_rate(foretold: Foretold) -> Message:
    """`118 to 140 events a second predicted (80 %), 101 now`."""
    predicted = say("{rate} events a second predicted (80 %)", rate=_interval(foretold))
    if foretold.now is None:
        return predicted
    return say("{predicted}, {now} now", predicted=predicted, now=Number(foretold.now))


def _interval(foretold: Foretold) -> Message:
    """Both bounds, or one figure where they look the same."""
    low, high = Number(foretold.low), Number(foretold.high)
    if str(low) == str(high):
        return say("{rate}", rate=low)
    return say("{low} to {high}", low=low, high=high)


def with_the_remedy(finding: Finding) -> Message | None:
    """The rate that the finding's trial or remedy is predicted to bring; `None`: not predicted."""
    if finding.foretold is None:
        return None
    predicted = predicted_rate(finding.foretold)
    if finding.trial is None:
        return say("With the remedy: {predicted}.", predicted=predicted)
    return say("With {change}: {predicted}.", change=finding.trial.change, predicted=predicted)


def proof_sentence(proof: Proof) -> Message:
    """The proof's sentence, and the predicted rate next to the measured one."""
    if proof.foretold is None or proof.tps_changed is None:
        return proof.sentence
    return sentences(
        proof.sentence,
        say(
            "Predicted {rate} events a second, measured {measured}.",
            rate=_interval(proof.foretold),
            measured=Number(proof.tps_changed),
        ),
    )
