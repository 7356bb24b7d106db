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
    // Start, record; whether it was put back, whether it is the log of then.
    let cases = [
        (5, 120, false, true),
        (5, 121, true, true),
        (4, 100, false, true),
        (4, 101, true, false),
        (3, 101, true, false),
        // Its log is another one since: the rest comes as stored records.
        (2, 999, false, false),
        (6, 1, true, false),
    ];
    for (incarnation, index, expected, is_kept) in cases {
        let hint = Hint {
            shard: ShardAddress { node: 1, shard: 0 },
            incarnation,
            index,
        };
        assert_eq!(log.was_put_back(hint), expected, "{hint:?}");
        assert_eq!(log.is_kept(hint), is_kept, "{hint:?}");
    }
}
