use dunlin_proto::ShardAddress;

use super::*;

#[test]
fn a_log_without_records_that_were_on_disk_was_put_back() {
    let log = LogNow {
        incarnation: 5,
        since: 3,
        opened_at: 100,
        last: 120,
    };
    let cases = [
        (5, 120, false),
        (5, 121, true),
        (4, 100, false),
        (4, 101, true),
        (3, 101, true),
        // Its log is another one since: the rest comes as stored records.
        (2, 999, false),
        (6, 1, true),
    ];
    for (incarnation, index, expected) in cases {
        let hint = Hint {
            shard: ShardAddress { node: 1, shard: 0 },
            incarnation,
            index,
        };
        assert_eq!(log.was_put_back(hint), expected, "{hint:?}");
    }
}
