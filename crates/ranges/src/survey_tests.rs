use super::*;
use dunlin_proto::ShardAddress;

#[test]
fn answers_of_shards_come_back_as_they_were_sent() {
    let at = ShardAddress { node: 2, shard: 1 };
    let replica = Survivor {
        id: 3,
        directory: 33,
        votes: true,
        leads: false,
        last: Position { index: 9, term: 7 },
        applied: 8,
        descriptor: Descriptor::first([(3, at, 33)]),
    };
    let all = [
        Holding::Unknown,
        Holding::Nothing,
        Holding::Empty {
            id: 4,
            directory: 44,
        },
        Holding::Replica(replica),
    ];
    for holding in all {
        let bytes = holding.encode();
        assert_eq!(Holding::decode(bytes.clone()), holding);
        // A part of it says nothing.
        let part = bytes.slice(..bytes.len() - 1);
        assert_eq!(Holding::decode(part), Holding::Unknown);
    }
    assert_eq!(decode_request(encode_request(5).slice(1..)), Ok(5));
    assert_eq!(decode_request(Bytes::from_static(b"short")), Err(Malformed));
}
