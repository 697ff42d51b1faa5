import time
import unittest
from datetime import timedelta

import redis

from quotadb import LeaseLost, LimitExceeded, QuotaDB, QuotaItem, RateRule

from .server import LONG, PORT, TTL, eventually, fresh_name


class WithServer(unittest.TestCase):
    def setUp(self) -> None:
        self.connection = redis.Redis(port=PORT)
        self.db = QuotaDB(self.connection)

    def tearDown(self) -> None:
        self.connection.close()


class Quotas(WithServer):
    def test_a_quota_admits_its_limit_and_says_what_remains(self) -> None:
        quota = self.db.quota(fresh_name("calls"))
        quota.define(limit=3, window=timedelta(days=365))
        self.assertIn(quota.name, self.db.quotas())
        first = quota.take("alice", 2)
        self.assertTrue(first)
        self.assertEqual((first.remaining_here, first.remaining_everywhere, first.retry_after), (1, 1, 0))
        assert first.reset_after is not None
        self.assertTrue(0 < first.reset_after <= LONG)
        self.assertFalse(quota.take("alice", 2))
        eventually(lambda: quota.peek("alice").remaining_everywhere == 1)
        eventually(lambda: quota.peek("bob").remaining_everywhere == 3)
        with self.assertRaisesRegex(LimitExceeded, f"the quota {quota.name} of alice was denied") as refused:
            quota.require("alice", 2)
        self.assertFalse(refused.exception.decision.allowed)
        self.assertTrue(quota.drop())
        self.assertFalse(quota.drop())

    def test_a_repetition_under_its_id_is_free(self) -> None:
        quota = self.db.quota(fresh_name("orders"))
        quota.define(limit=10)
        self.assertIsNone(quota.take("alice", 4, id="order-7").reset_after)
        self.assertTrue(quota.take("alice", 4, id="order-7"))
        eventually(lambda: quota.peek("alice").remaining_everywhere == 6)

    def test_several_quotas_are_charged_together_or_not_at_all(self) -> None:
        small, large = self.db.quota(fresh_name("small")), self.db.quota(fresh_name("large"))
        small.define(limit=1, window=LONG)
        large.define(limit=5, window=LONG)
        items = [QuotaItem(small.name, "alice"), QuotaItem(large.name, "team", 2)]
        self.assertTrue(self.db.take_all(items))
        refused = self.db.take_all(items)
        self.assertFalse(refused)
        self.assertEqual(len(refused.decisions), 2)
        eventually(lambda: large.peek("team").remaining_everywhere == 3)

    def test_a_server_error_is_redis_pys_own(self) -> None:
        with self.assertRaises(redis.ResponseError):
            self.db.quota(fresh_name("missing")).take("alice")

    def test_connections_that_decode_work_as_well(self) -> None:
        with redis.Redis(port=PORT, decode_responses=True) as decoding:
            quota = QuotaDB(decoding).quota(fresh_name("decoded"))
            quota.define(limit=10)
            with quota.reserve("alice", 4) as reservation:
                self.assertEqual(reservation.commit(4).charged, 4)


class Reservations(WithServer):
    def setUp(self) -> None:
        super().setUp()
        self.quota = self.db.quota(fresh_name("tokens"))
        self.quota.define(limit=1000, window=LONG)

    def remaining(self) -> int:
        return self.quota.peek("alice").remaining_everywhere

    def test_a_committed_reservation_charges_what_was_used(self) -> None:
        with self.quota.reserve("alice", 500) as reservation:
            self.assertEqual(reservation.decision.remaining_everywhere, 500)
            settlement = reservation.commit(320)
        self.assertEqual((settlement.charged, settlement.uncharged), (320, 0))
        eventually(lambda: self.remaining() == 680)
        self.assertFalse(reservation.cancel())

    def test_a_block_that_commits_nothing_or_fails_gives_all_of_it_back(self) -> None:
        with self.quota.reserve("alice", 500):
            pass
        eventually(lambda: self.remaining() == 1000)
        with self.assertRaises(ZeroDivisionError):
            with self.quota.reserve("alice", 500):
                1 / 0
        eventually(lambda: self.remaining() == 1000)

    def test_a_denied_reservation_raises_before_its_block(self) -> None:
        self.quota.require("alice", 600)
        with self.assertRaises(LimitExceeded) as refused:
            with self.quota.reserve("alice", 500, wait=0):
                self.fail("the block ran")
        self.assertGreater(refused.exception.decision.retry_after or 0, 0)


class Leases(WithServer):
    def setUp(self) -> None:
        super().setUp()
        self.jobs = self.db.quota(fresh_name("jobs"))
        self.jobs.define(limit=1, lease=60)

    def test_one_is_held_at_once_and_given_back_at_the_end_of_its_block(self) -> None:
        with self.jobs.lease("alice", ttl=30) as lease:
            self.assertTrue(lease.is_held)
            lease.check()
            with self.assertRaises(LimitExceeded):
                self.jobs.lease("alice", ttl=30, wait=0)
        self.assertFalse(lease.is_held)
        self.assertFalse(lease.lost.is_set())
        eventually(lambda: self.jobs.peek("alice").remaining_everywhere == 1)

    def test_a_lease_is_renewed_for_as_long_as_its_block_runs(self) -> None:
        with self.jobs.lease("alice", ttl=TTL) as lease:
            begun = time.monotonic()
            while time.monotonic() < begun + 1.2 * TTL:
                self.assertTrue(lease.is_held)
                self.assertFalse(lease.lost.wait(0.05))
            with self.assertRaises(LimitExceeded):
                self.jobs.lease("alice", ttl=30, wait=0)

    def test_a_lease_that_cannot_be_renewed_is_lost_in_time(self) -> None:
        with self.jobs.lease("alice", ttl=0.5) as lease:
            self.connection.execute_command("QUOTA.RELEASE", lease.id)
            self.assertTrue(lease.lost.wait(30))
            self.assertFalse(lease.is_held)
            with self.assertRaisesRegex(LeaseLost, lease.id):
                lease.check()


class Rates(WithServer):
    def test_a_sliding_window_admits_its_limit(self) -> None:
        limit = self.db.limit(2, window=LONG, prefix=fresh_name("api:"))
        self.assertEqual([bool(limit.take("alice")) for _ in range(3)], [True, True, False])
        self.assertEqual(limit.peek("alice", 0).remaining, 0)
        self.assertTrue(limit.take("bob"))
        with self.assertRaises(LimitExceeded) as refused:
            limit.require("alice")
        self.assertGreater(refused.exception.decision.retry_after or 0, 0)

    def test_several_windows_are_charged_together_or_not_at_all(self) -> None:
        name = fresh_name("several")
        rules = [RateRule(f"{name}:second", 1, LONG), RateRule(f"{name}:day", 100, LONG)]
        self.assertTrue(self.db.limit_all(rules))
        refused = self.db.limit_all(rules)
        self.assertFalse(refused)
        self.assertEqual([decision.remaining for decision in refused.decisions], [0, 99])

    def test_a_bucket_admits_its_burst(self) -> None:
        bucket = self.db.bucket(burst=1, count=1, period=3600, prefix=fresh_name("bucket:"))
        self.assertEqual([bool(bucket.take("alice")) for _ in range(3)], [True, True, False])
        with self.assertRaisesRegex(LimitExceeded, "try again in"):
            bucket.require("alice")


if __name__ == "__main__":
    unittest.main()
