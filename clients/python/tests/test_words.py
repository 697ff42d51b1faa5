import unittest
from datetime import timedelta

from quotadb import QuotaItem, words


class Words(unittest.TestCase):
    def test_durations_are_seconds_or_timedeltas_and_sent_as_milliseconds(self) -> None:
        self.assertEqual(words.milliseconds(1.5, "ttl"), 1500)
        self.assertEqual(words.milliseconds(timedelta(minutes=2), "ttl"), 120_000)
        for wrong in (-1, float("nan"), float("inf"), timedelta(seconds=-1)):
            with self.assertRaisesRegex(ValueError, "ttl is a number of seconds"):
                words.milliseconds(wrong, "ttl")

    def test_a_definition_has_a_window_none_or_leases(self) -> None:
        define = words.define("q", 5, None, None, None, None, None)
        self.assertEqual(define.words, ("QUOTA.DEFINE", "q", "LIMIT", 5, "WINDOW", "NONE"))
        full = words.define("q", 5, 60, None, "us", {"us": 0.5, "eu": 0.25}, 0)
        self.assertEqual(
            full.words[4:],
            ("WINDOW", "60000ms", "ALLOCATOR", "us", "SHARE", "us", "0.5", "SHARE", "eu", "0.25", "ON-UNREACHABLE", "DENY"),
        )
        leases = words.define("q", 5, None, 30, None, None, 0.5)
        self.assertEqual(leases.words[4:], ("LEASE", "30000ms", "ON-UNREACHABLE", "WAIT", 500))

    def test_options_follow_the_words_of_a_take(self) -> None:
        self.assertEqual(words.take("q", "a", 2, None, None).words, ("QUOTA.TAKE", "q", "a", 2))
        self.assertEqual(words.take("q", "a", 2, 0.25, "once").words[4:], ("WAIT", 250, "ID", "once"))
        several = words.take_all([QuotaItem("q", "a"), QuotaItem("r", "b", 3)], None, None)
        self.assertEqual(several.words, ("QUOTA.TAKEALL", 2, "q", "a", 1, "r", "b", 3))

    def test_a_reply_with_further_values_is_read(self) -> None:
        decision = words.take("q", "a", 1, None, None).read([1, 2, 3, -1, 0, "new in a later release"])
        self.assertTrue(decision)
        self.assertIsNone(decision.reset_after)
        self.assertEqual(decision.retry_after, 0)


if __name__ == "__main__":
    unittest.main()
