from ssiode.named_targets import NAMED_TARGETS


def test_every_named_target_is_listed(ssiode):
    listed = ssiode("targets", "--json").json["targets"]
    assert [row["name"] for row in listed] == list(NAMED_TARGETS)
    assert listed[0]["parameters"]["omega"] == {
        "minimum": 0.0,
        "maximum": 1.0,
        "minimum_allowed": True,
    }


def test_text_names_them(ssiode):
    text = ssiode("targets").out
    assert all(name in text for name in NAMED_TARGETS)
