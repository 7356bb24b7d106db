use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::*;

fn bytes() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..20).prop_map(Bytes::from)
}

fn version() -> impl Strategy<Value = Version> {
    any::<u64>().prop_map(Version)
}

fn key() -> impl Strategy<Value = DirectKey> {
    ("[a-z]{0,8}", bytes()).prop_map(|(keyspace, key)| DirectKey {
        keyspace: keyspace.into(),
        key,
    })
}

fn id() -> impl Strategy<Value = DirectId> {
    (any::<u64>(), any::<u128>()).prop_map(|(ms, number)| DirectId { ms, number })
}

fn span() -> impl Strategy<Value = DirectSpan> {
    let parts = ("[a-z]{0,8}", bytes(), option::of(bytes()));
    parts.prop_map(|(keyspace, start, end)| DirectSpan {
        keyspace,
        start,
        end,
    })
}

fn request() -> impl Strategy<Value = DirectRequest> {
    let read = (option::of(version()), any::<bool>(), vec(key(), 0..4));
    let page = (option::of(version()), span(), any::<u32>());
    let reads = vec((key(), option::of(version())), 0..4);
    let writes = vec((key(), option::of(bytes())), 0..4);
    let commit = (
        option::of(version()),
        reads,
        vec(span(), 0..3),
        writes,
        id(),
    );
    prop_oneof![
        read.prop_map(|(at, lock, keys)| DirectRequest::Read { at, lock, keys }),
        page.prop_map(|(at, span, limit)| DirectRequest::Page { at, span, limit }),
        commit.prop_map(|(at, reads, scans, writes, id)| {
            DirectRequest::Commit(DirectCommit {
                at,
                reads,
                scans,
                writes,
                id,
            })
        }),
        (id(), key()).prop_map(|(id, first)| DirectRequest::Outcome { id, first }),
        version().prop_map(DirectRequest::Unlock),
    ]
}

fn response() -> impl Strategy<Value = DirectResponse> {
    let values = vec(option::of((version(), bytes())), 0..4);
    let rows = vec((bytes(), version(), bytes()), 0..4);
    prop_oneof![
        (version(), values).prop_map(|(at, values)| DirectResponse::Values(at, values)),
        (version(), rows, option::of(bytes()))
            .prop_map(|(at, rows, next)| DirectResponse::Page(at, rows, next)),
        version().prop_map(DirectResponse::Committed),
        Just(DirectResponse::Done),
        (any::<u16>(), "[a-z ]{0,20}")
            .prop_map(|(status, line)| DirectResponse::Refused(status, line)),
    ]
}

fn leader() -> impl Strategy<Value = DirectLeader> {
    let at = (any::<u16>(), any::<u16>()).prop_map(|(node, shard)| ShardAddress { node, shard });
    let parts = (span(), at, any::<u16>(), "[a-z.:0-9]{0,20}");
    parts.prop_map(|(span, at, shards, http)| DirectLeader {
        span,
        at,
        shards,
        http,
    })
}

fn reply() -> impl Strategy<Value = DirectReply> {
    let parts = (response(), option::of(leader()));
    parts.prop_map(|(response, leader)| DirectReply { response, leader })
}

fn encoded(message: &impl Message) -> Bytes {
    let mut out = BytesMut::new();
    message.encode(&mut out);
    out.freeze()
}

proptest! {
    #[test]
    fn requests_come_back_as_they_went(request in request()) {
        let bytes = encoded(&request);
        prop_assert!(bytes.len() <= request.weight(), "{} of {}", bytes.len(), request.weight());
        prop_assert_eq!(DirectRequest::decode(bytes), Ok(request));
    }

    #[test]
    fn replies_come_back_as_they_went(reply in reply()) {
        let bytes = encoded(&reply);
        prop_assert!(bytes.len() <= reply.weight() + 16);
        prop_assert_eq!(DirectReply::decode(bytes), Ok(reply));
    }

    #[test]
    fn a_part_of_a_request_is_none(request in request(), cut in 1usize..40) {
        let bytes = encoded(&request);
        let part = bytes.slice(..bytes.len().saturating_sub(cut));
        prop_assert!(DirectRequest::decode(part).is_err());
        let more = Bytes::from([&bytes[..], b"more"].concat());
        prop_assert!(DirectRequest::decode(more).is_err());
    }

    #[test]
    fn any_bytes_are_a_request_or_an_error(bytes in vec(any::<u8>(), 0..200)) {
        drop(DirectRequest::decode(bytes.clone().into()));
        drop(DirectReply::decode(bytes.into()));
    }
}
