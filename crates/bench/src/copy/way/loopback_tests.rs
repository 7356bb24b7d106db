use super::*;

#[test]
fn reads_what_was_received_not_what_was_sent() {
    let printed = "{\"end\": {\"sum_sent\": {\"bits_per_second\": 90}, \
                   \"sum_received\": {\"bits_per_second\": 80.0}}}";
    assert_eq!(received(printed), Some(10.0));
    assert_eq!(received("{\"error\": \"unable to connect\"}"), None);
}
