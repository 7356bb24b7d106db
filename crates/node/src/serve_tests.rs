use dunlin_proto::ShardAddress;

use super::*;

#[test]
fn who_was_not_waited_for_is_answered_only_abreast() {
    let read = || {
        Request::Read(ReadRequest {
            keyspace: 1,
            partition: 0,
            have: None,
            key: Bytes::new(),
        })
    };
    let address = ShardAddress { node: 1, shard: 0 };
    // The request, whether the asker was not waited for, its step as it said it, the answerer's.
    let cases = [
        ("a member's, which says nothing", read(), false, 3, 7, false),
        ("a spare node's, abreast", read(), true, 7, 7, false),
        ("ahead", read(), true, 9, 7, false),
        ("one behind", read(), true, 6, 7, true),
        (
            "that said nothing, after a change",
            read(),
            true,
            FIRST_STEP,
            7,
            true,
        ),
        ("before any change", read(), true, FIRST_STEP, 3, false),
        ("a repair", Request::Repair(Vec::new()), true, 6, 7, true),
        (
            "a repair abreast",
            Request::Repair(Vec::new()),
            true,
            7,
            7,
            false,
        ),
        ("how it is", Request::Move, true, 3, 7, false),
        (
            "whether it is reached",
            Request::Reach(address),
            true,
            3,
            7,
            false,
        ),
        ("saying so", Request::Acts(7), true, 3, 7, false),
        ("saying so too late", Request::Acts(6), true, 3, 7, true),
    ];
    for (what, request, is_fenced, said, own, expected) in cases {
        assert_eq!(
            is_behind(&request, is_fenced, said, own),
            expected,
            "{what}"
        );
    }
}
