//! Proof that the simulation can fail: it finds each deliberate bug, by values alone.
//! `dunlin-sim --proof` looks for each in ten ranges of seeds.

use dunlin_sim::{SEEDS, Sabotage, find};

fn is_found(sabotage: Sabotage) {
    // Twice what a range of `--proof` has: of some bugs' plans there are but twenty in a range.
    match find(sabotage, 1, 2 * SEEDS).unwrap() {
        Some(found) => println!("{sabotage:?}: run {}: {}", found.runs, found.line),
        None => panic!("{sabotage:?} is not found within {} seeds", 2 * SEEDS),
    }
}

/// No generator finds these by values within 500 seeds: another rule stops the damage. Tables of cases cover them
/// (`ranges/src/place_tests.rs`, `descriptor_tests.rs`, `reads_tests.rs`).
const NOT_FOUND: [(Sabotage, &str); 4] = [
    (
        Sabotage::KeepOldConfiguration,
        "raft takes the configuration from the head of the snapshot, too",
    ),
    (
        Sabotage::RemakeRemoved,
        "the log never gives the number of a replica that was removed again",
    ),
    (
        Sabotage::PrepareDiscardsVoter,
        "a leader prepares no replica where one of its own configuration is",
    ),
    (
        Sabotage::TimestampUnconfirmed,
        "a former leader has used up its window of timestamps, and the lease of its ranges, before another leads",
    ),
];

macro_rules! found {
    ($($test:ident $sabotage:ident)*) => {
        $(
            #[test]
            fn $test() {
                is_found(Sabotage::$sabotage);
            }
        )*

        #[test]
        fn none_is_left_out() {
            let tested = [Sabotage::None, $(Sabotage::$sabotage),*];
            for sabotage in Sabotage::ALL {
                let is_known = NOT_FOUND.iter().any(|(known, _)| *known == sabotage);
                let is_tested = tested.contains(&sabotage);
                assert!(is_tested != is_known, "{sabotage:?}: looked for, or known not to be found");
            }
        }
    };
}

found! {
    acknowledging_before_the_sync AckUnsynced
    ignoring_gaps IgnoreGaps
    believing_a_store_without_memory TrustEmptyMetadata
    storing_with_the_first_alone NarrowFrom
    forgetting_tombstones ForgetTombstones
    a_new_replica_without_the_newest SkipTail
    forgetting_what_was_written_beside_the_copy ForgetTail
    reading_the_log_among_pages TailAmongPages
    answering_without_a_past AnswerUncertain
    not_stamping_again NoRestamp
    taking_the_first_answer FirstAnswer
    writing_to_old_replicas_alone SkipJoint
    stamping_late_attempts_anew IgnoreDeadlines
    stamping_conditional_writes_again RestampConditions
    serving_the_earlier_of_two_processes AcceptTwins
    flushing_what_the_log_can_lose FlushUnsynced
    asking_each_for_its_own_entries_alone RefillOwnOnly
    believing_any_clock FollowAnyClock
    answering_who_is_behind ServeBehind
    counting_the_word_of_the_forgetful CountUnsure
    ending_renewed_values EndByNow
    sealing_what_is_not_there SealUnequal
    hiding_what_no_log_has HideGaps
    comparing_with_what_is_newer_alone CompareNewer
    showing_what_one_replica_has ShowEarly
    going_on_elsewhere_from_now SkipAtSwitch
    saying_more_than_was_told TokenAhead
    naming_what_was_forgotten NameForgotten
    promising_by_what_a_backfill_left_out PromiseByGap
    coming_to_the_end_with_a_gap JoinAtEnd
    indexing_in_any_order IndexAnyOrder
    ranges_acknowledging_before_the_sync RangeAckUnsynced
    ranges_voting_before_the_sync VoteUnsynced
    ranges_joining_an_older_round ReadJoinsOlderRound
    ranges_voting_when_put_back PutBackVotes
    ranges_taken_over_without_a_record SnapshotWithoutRecord
    ranges_keeping_entries_of_a_higher_index KeepHigherEntries
    ranges_judging_at_the_leader JudgeAtLeader
    ranges_read_above_their_lease ReadPastLease
    cached_rows_that_stay KeepCachedRow
    ranges_starting_without_the_commit_index ForgetCommit
    ranges_skipping_joint_consensus SkipJointOfRange
    ranges_reusing_numbers_of_replicas ReuseReplicaNumber
}
