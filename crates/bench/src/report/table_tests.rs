use super::*;

#[test]
fn aligns_fills_and_escapes() {
    let mut table = Table::new(&["name", "n"]);
    table.row(vec!["a|b".into(), "12345".into()]);
    table.row(vec!["longer".into()]);
    assert_eq!(
        table.render(),
        "| name   |     n |\n| ------ | ----: |\n| a\\|b   | 12345 |\n| longer |       |\n"
    );
}
