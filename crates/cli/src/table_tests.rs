use super::*;

fn table() -> Table {
    let mut table = Table::new(&[("name", Align::Left), ("items", Align::Right)]);
    table.row(vec![Cell::plain("n1"), Cell::plain(7)]);
    table.row(vec![
        Cell::coloured("knöt", Colour::Red),
        Cell::plain(1_234_567),
    ]);
    table
}

#[test]
fn columns_stand_under_their_headings() {
    assert_eq!(
        table().render(false),
        "name    items\nn1          7\nknöt  1234567\n"
    );
}

#[test]
fn colour_does_not_shift_columns() {
    assert_eq!(
        table()
            .render(true)
            .replace("\x1b[31m", "")
            .replace("\x1b[0m", ""),
        table().render(false)
    );
    assert!(table().render(true).contains("\x1b[31mknöt\x1b[0m"));
}
