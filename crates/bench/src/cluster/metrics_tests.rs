use super::*;

#[test]
fn sums_over_labels_and_nothing_else() {
    let text = "\
# HELP a_total Things.
# TYPE a_total counter
a_total{shard=\"0\",name=\"x} y\"} 3
a_total{shard=\"1\"} 4.5 1700000000
a_total_more 100
a_total_created{shard=\"0\"} 7
b_total 2
";
    assert_eq!(sum(text, "a_total"), Some(7.5));
    assert_eq!(sum(text, "b_total"), Some(2.0));
    assert_eq!(sum(text, "c_total"), None);
}
