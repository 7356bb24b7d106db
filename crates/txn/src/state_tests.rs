#![allow(clippy::unwrap_used)]
use super::*;

/// Rows in memory.
#[derive(Default)]
struct Memory {
    versions: BTreeMap<Bytes, BTreeMap<Version, Option<Bytes>>>,
    intents: BTreeMap<Bytes, Intent>,
    records: BTreeMap<Version, Record>,
    ids: BTreeMap<Id, IdRecord>,
}

impl Rows for Memory {
    type Error = std::convert::Infallible;

    fn newest(&mut self, key: &Bytes) -> Result<Option<(Version, bool)>, Self::Error> {
        let versions = self.versions.get(key);
        let last = versions.and_then(|versions| versions.last_key_value());
        Ok(last.map(|(version, value)| (*version, value.is_some())))
    }

    fn record(&mut self, txn: Version) -> Result<Option<Record>, Self::Error> {
        Ok(self.records.get(&txn).cloned())
    }

    fn id(&mut self, id: &Id) -> Result<Option<IdRecord>, Self::Error> {
        let mut known = self.ids.iter().filter(|(known, _)| known.name == id.name);
        Ok(known.next().map(|(_, record)| *record))
    }

    fn put_id(&mut self, id: &Id, record: &IdRecord) {
        self.ids.insert(id.clone(), *record);
    }

    fn put_version(&mut self, key: &Bytes, version: Version, value: Option<&Bytes>) {
        let versions = self.versions.entry(key.clone()).or_default();
        versions.insert(version, value.cloned());
    }

    fn put_intent(&mut self, key: &Bytes, intent: &Intent) {
        self.intents.insert(key.clone(), intent.clone());
    }

    fn remove_intent(&mut self, key: &Bytes) {
        self.intents.remove(key);
    }

    fn put_record(&mut self, txn: Version, record: &Record) {
        self.records.insert(txn, record.clone());
    }

    fn remove_records(&mut self, up_to: Version) {
        self.records.retain(|txn, _| *txn > up_to);
        self.ids.retain(|id, _| id.ms > up_to.millis());
    }
}

#[derive(Default)]
struct Range {
    state: State,
    rows: Memory,
}

impl Range {
    fn apply(&mut self, command: &Command) -> Verdict {
        let verdict = self.state.apply(&mut self.rows, command).unwrap();
        // What is in memory is what would be loaded.
        let mut loaded = State::new(self.state.watermark, self.state.drops);
        for (key, intent) in &self.rows.intents {
            loaded.load_intent(key.clone(), intent.clone());
        }
        for (txn, record) in &self.rows.records {
            loaded.load_record(*txn, record.clone());
        }
        assert_eq!(loaded, self.state);
        verdict
    }

    fn values(&self, name: &str) -> Vec<(u64, Option<&str>)> {
        let versions = self.rows.versions.get(&key(name)).into_iter().flatten();
        let text = |value: &Option<Bytes>| value.as_ref().map(|_| "v");
        versions
            .map(|(version, value)| (version.0, text(value)))
            .collect()
    }
}

fn key(name: &str) -> Bytes {
    Bytes::copy_from_slice(name.as_bytes())
}

fn puts(names: &[&str]) -> Vec<Write> {
    let put = |name: &&str| Write {
        key: key(name),
        value: Some(key("v")),
    };
    names.iter().map(put).collect()
}

fn write(at: u64, condition: Condition, name: &str) -> Command {
    Command::Write {
        at: Version(at),
        condition,
        write: puts(&[name]).remove(0),
    }
}

fn place(txn: u64, names: &[&str]) -> Command {
    Command::Place {
        txn: Version(txn),
        holder: 7,
        checks: vec![],
        writes: puts(names),
    }
}

fn commit(txn: u64, participants: &[u64], names: &[&str]) -> Command {
    Command::Commit {
        txn: Version(txn),
        participants: participants.to_vec(),
        checks: vec![],
        writes: puts(names),
        id: None,
    }
}

fn finalize(txn: u64, is_committed: bool) -> Command {
    Command::Finalize {
        txn: Version(txn),
        is_committed,
    }
}

fn intent(name: &str, txn: u64) -> Verdict {
    Verdict::Blocked(Blocker::Intent {
        key: key(name),
        txn: Version(txn),
        holder: 7,
    })
}

fn newer(name: &str, version: u64) -> Verdict {
    let (key, at) = (key(name), Version(version));
    Verdict::Blocked(Blocker::Newer { key, at })
}

fn old(watermark: u64) -> Verdict {
    Verdict::Blocked(Blocker::Old(Version(watermark)))
}

#[test]
fn conditions_are_judged_by_the_newest_version() {
    let mut range = Range::default();
    assert_eq!(
        range.apply(&write(5, Condition::Absent, "k")),
        Verdict::Done
    );
    let failed = Verdict::ConditionFailed(Some(Version(5)));
    assert_eq!(range.apply(&write(6, Condition::Absent, "k")), failed);
    let is = |version| Condition::Is(Stamp::new(Version(version), ORIGIN));
    assert_eq!(range.apply(&write(7, is(4), "k")), failed);
    assert_eq!(range.apply(&write(8, is(5), "k")), Verdict::Done);
    assert_eq!(
        range.apply(&write(8, Condition::Present, "k")),
        newer("k", 8)
    );
    let gone = Command::Write {
        at: Version(9),
        condition: Condition::Present,
        write: Write {
            key: key("k"),
            value: None,
        },
    };
    assert_eq!(range.apply(&gone), Verdict::Done);
    let absent = Verdict::ConditionFailed(None);
    assert_eq!(range.apply(&write(10, Condition::Present, "k")), absent);
    assert_eq!(
        range.values("k"),
        [(5, Some("v")), (8, Some("v")), (9, None)]
    );
}

#[test]
fn intents_are_placed_all_or_none_and_keep_others_out() {
    let mut range = Range::default();
    range.apply(&write(20, Condition::None, "c"));
    assert_eq!(range.apply(&place(10, &["a", "b"])), Verdict::Done);
    // Twice is once.
    assert_eq!(range.apply(&place(10, &["a", "b"])), Verdict::Done);
    assert_eq!(range.apply(&place(11, &["d", "a"])), intent("a", 10));
    assert_eq!(range.apply(&place(12, &["d", "c"])), newer("c", 20));
    assert!(!range.state.has_intents_of(Version(11)));
    assert_eq!(
        range.apply(&write(15, Condition::None, "a")),
        intent("a", 10)
    );
    assert_eq!(range.apply(&commit(15, &[], &["b"])), intent("b", 10));
    let blocker = |at, name: &str| range.state.met_by_read(Version(at), &key(name), None);
    assert_eq!(blocker(10, "a"), None);
    assert_eq!(Some(blocker(11, "a")), Some(blocker(11, "")));
    assert!(blocker(11, "b").is_some() && blocker(11, "c").is_none());
    assert_eq!(range.apply(&finalize(10, true)), Verdict::Done);
    assert_eq!(range.apply(&finalize(10, true)), Verdict::Done);
    assert_eq!(range.values("a"), [(10, Some("v"))]);
    // A message that was late.
    assert_eq!(range.apply(&place(10, &["a", "b"])), newer("a", 10));
    assert_eq!(range.apply(&place(30, &["a"])), Verdict::Done);
    range.apply(&finalize(30, false));
    assert_eq!(range.values("a"), [(10, Some("v"))]);
}

#[test]
fn a_transaction_commits_or_is_aborted_and_that_stays() {
    let mut range = Range::default();
    assert_eq!(range.apply(&commit(5, &[8], &["a"])), Verdict::Committed);
    assert_eq!(range.apply(&commit(5, &[8], &["a"])), Verdict::Committed);
    let abort = |txn| Command::Abort { txn: Version(txn) };
    assert_eq!(range.apply(&abort(5)), Verdict::Committed);
    assert_eq!(range.apply(&abort(6)), Verdict::Aborted);
    assert_eq!(range.apply(&commit(6, &[], &["b"])), Verdict::Aborted);
    assert_eq!(range.values("b"), []);
    // One without participants has a record too: its client may ask.
    assert_eq!(range.apply(&commit(7, &[], &["b"])), Verdict::Committed);
    assert_eq!(range.apply(&abort(7)), Verdict::Committed);
    let unfinished: Vec<Version> = range.state.unfinished().map(|(txn, _)| txn).collect();
    assert_eq!(unfinished, [Version(5)]);
    range.apply(&Command::Finished {
        txns: vec![Version(5), Version(99)],
    });
    assert_eq!(range.state.unfinished().count(), 0);
    assert_eq!(range.apply(&abort(5)), Verdict::Committed);
}

#[test]
fn nothing_happens_at_or_below_the_watermark_and_what_others_need_stays() {
    let mut range = Range::default();
    range.apply(&commit(5, &[8], &["a"]));
    range.apply(&commit(6, &[], &["b"]));
    range.apply(&Command::Abort { txn: Version(7) });
    range.apply(&Command::Abort { txn: Version(11) });
    range.apply(&Command::Watermark { to: Version(10) });
    range.apply(&Command::Watermark { to: Version(9) });
    assert_eq!(range.state.watermark(), Version(10));
    let kept: Vec<u64> = range.rows.records.keys().map(|txn| txn.0).collect();
    assert_eq!(kept, [5, 11]);
    assert_eq!(
        range.apply(&Command::Abort { txn: Version(5) }),
        Verdict::Committed
    );
    assert_eq!(
        range.apply(&Command::Abort { txn: Version(6) }),
        Verdict::Forgotten
    );
    assert_eq!(range.apply(&commit(9, &[], &["c"])), Verdict::Forgotten);
    assert_eq!(range.apply(&place(10, &["c"])), old(10));
    assert_eq!(range.apply(&write(10, Condition::None, "c")), old(10));
    assert_eq!(range.apply(&write(11, Condition::None, "c")), Verdict::Done);
    range.apply(&Command::Finished {
        txns: vec![Version(5)],
    });
    range.apply(&Command::Watermark { to: Version(11) });
    assert!(range.rows.records.is_empty());
}

fn named(txn: u64, body: u64) -> Command {
    Command::Commit {
        txn: Version(txn),
        participants: vec![],
        checks: vec![],
        writes: puts(&["k"]),
        id: Some(id(body)),
    }
}

fn id(body: u64) -> Id {
    Id {
        ms: 5,
        name: key("5-name"),
        body,
    }
}

fn close(refusal: Refusal) -> Command {
    Command::Close { id: id(1), refusal }
}

#[test]
fn of_attempts_at_the_same_one_commits() {
    let mut range = Range::default();
    assert_eq!(range.apply(&named(10, 1)), Verdict::Committed);
    let before = Verdict::CommittedBefore(Version(10));
    assert_eq!(range.apply(&named(11, 1)), before);
    assert_eq!(range.apply(&named(12, 2)), Verdict::NameTaken);
    assert_eq!(range.apply(&close(Refusal::Conflict)), before);
    assert_eq!(range.values("k"), [(10, Some("v"))]);
}

#[test]
fn a_refusal_is_the_outcome_of_a_name_for_good() {
    let mut range = Range::default();
    let refusal = Refusal::CheckFailed(2, Some(Version(3)));
    assert_eq!(range.apply(&close(refusal)), Verdict::Done);
    let before = Verdict::RefusedBefore(refusal);
    assert_eq!(range.apply(&close(Refusal::Conflict)), before);
    // Attempts that were on their way, and later ones.
    assert_eq!(range.apply(&named(9, 1)), before);
    assert_eq!(range.apply(&named(900, 1)), before);
    assert_eq!(range.apply(&named(901, 2)), Verdict::NameTaken);
    assert_eq!(range.values("k"), []);
    // Its name is forgotten with all that is as old.
    let to = Version::new(5, 0);
    range.apply(&Command::Watermark { to });
    assert!(range.rows.ids.is_empty());
    assert_eq!(range.apply(&named(to.0 + 1, 1)), Verdict::Forgotten);
}

#[test]
fn a_drop_ends_what_is_undecided_and_what_committed_stays() {
    let mut range = Range::default();
    let dropped = |count| Command::Dropped { count };
    assert_eq!(range.apply(&commit(5, &[8], &["a"])), Verdict::Committed);
    assert_eq!(range.apply(&place(6, &["i"])), Verdict::Done);
    range.apply(&dropped(1));
    assert!(range.state.is_dropped() && !range.state.is_ended());
    // Behind the drop nothing is written, and commits are aborted.
    assert_eq!(range.apply(&commit(7, &[8], &["b"])), Verdict::Aborted);
    assert_eq!(range.apply(&place(8, &["b"])), Verdict::Aborted);
    let none = Condition::None;
    assert_eq!(range.apply(&write(9, none, "b")), Verdict::Aborted);
    assert_eq!(range.values("b"), []);
    // Earlier commits stay, also for other ranges; intents end as their transactions do.
    assert_eq!(range.apply(&commit(5, &[8], &["a"])), Verdict::Committed);
    assert_eq!(range.apply(&finalize(6, true)), Verdict::Done);
    assert_eq!(range.values("i"), [(6, Some("v"))]);
    let txns = vec![Version(5)];
    range.apply(&Command::Finished { txns });
    assert!(range.state.is_ended());
    // A leader that does not know of the undrop yet changes nothing, nor does one that is late with the drop.
    range.apply(&dropped(2));
    range.apply(&dropped(1));
    assert!(!range.state.is_dropped());
    assert_eq!(range.apply(&commit(7, &[8], &["b"])), Verdict::Aborted);
    assert_eq!(range.apply(&commit(10, &[], &["b"])), Verdict::Committed);
}

#[test]
fn a_name_is_reserved_for_one_body() {
    let mut range = Range::default();
    let reserve = |body| Command::Reserve { id: id(body) };
    assert_eq!(range.apply(&reserve(1)), Verdict::Done);
    assert_eq!(range.apply(&reserve(1)), Verdict::Done);
    assert_eq!(range.apply(&reserve(2)), Verdict::NameTaken);
    assert_eq!(range.apply(&named(10, 2)), Verdict::NameTaken);
    // Its body commits, here by chance; then the name is still that body's.
    assert_eq!(range.apply(&named(11, 1)), Verdict::Committed);
    assert_eq!(range.apply(&reserve(1)), Verdict::Done);
    assert_eq!(range.apply(&reserve(2)), Verdict::NameTaken);
    let to = Version::new(5, 0);
    range.apply(&Command::Watermark { to });
    assert_eq!(range.apply(&reserve(1)), Verdict::Forgotten);
}

#[test]
fn checks_hold_of_what_the_transaction_sees_or_nothing_happens() {
    let mut range = Range::default();
    range.apply(&write(5, Condition::None, "k"));
    let is = |version| Condition::Is(Stamp::new(Version(version), ORIGIN));
    let with = |txn, conditions: &[(&str, Condition)], places: bool| {
        let check = |(name, condition): &(&str, Condition)| Check {
            key: key(name),
            condition: *condition,
        };
        let checks = conditions.iter().map(check).collect();
        let (txn, writes) = (Version(txn), puts(&["w"]));
        if places {
            Command::Place {
                txn,
                holder: 7,
                checks,
                writes,
            }
        } else {
            Command::Commit {
                txn,
                participants: vec![],
                checks,
                writes,
                id: None,
            }
        }
    };
    let cases: [(&[(&str, Condition)], Verdict); 6] = [
        (&[("k", is(4))], Verdict::CheckFailed(0, Some(Version(5)))),
        (
            &[("k", is(5)), ("k", Condition::Absent)],
            Verdict::CheckFailed(1, Some(Version(5))),
        ),
        (&[("a", Condition::Present)], Verdict::CheckFailed(0, None)),
        (&[("a", is(5))], Verdict::CheckFailed(0, None)),
        (&[("i", Condition::Absent)], intent("i", 6)),
        (&[("n", Condition::Present)], newer("n", 90)),
    ];
    range.apply(&place(6, &["i"]));
    range.apply(&write(90, Condition::None, "n"));
    for (conditions, verdict) in &cases {
        for places in [false, true] {
            let command = with(20, conditions, places);
            assert_eq!(range.apply(&command), *verdict, "{command:?}");
            assert_eq!(range.apply(&command), *verdict, "again: {command:?}");
        }
    }
    assert_eq!(range.values("w"), []);
    assert!(!range.state.has_intents_of(Version(20)));
    // Its own intent is not in its way.
    let holds: &[(&str, Condition)] = &[("k", is(5)), ("a", Condition::Absent)];
    assert_eq!(range.apply(&with(20, holds, true)), Verdict::Done);
    range.apply(&finalize(20, false));
    assert_eq!(range.apply(&with(21, holds, false)), Verdict::Committed);
    assert_eq!(range.values("w"), [(21, Some("v"))]);
}
