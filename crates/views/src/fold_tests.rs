#![allow(clippy::unwrap_used)]

use super::*;

fn rows(values: &[&str]) -> Rows {
    let mut rows = Rows::default();
    values
        .iter()
        .for_each(|value| rows.add("[1,\"a\"]", "\"id\"", value));
    rows
}

fn new(source: &str) -> Result<Fold, EngineError> {
    Fold::new(Engines::InPlace, source)
}

#[test]
fn rows_are_reduced_and_what_comes_of_them_again() {
    let source = "function (keys, values, rereduce) {
        if (rereduce) return { again: values.map((value) => value.n) };
        return { n: sum(values), key: keys[0][0][1], id: keys[0][1] };
    }";
    let mut fold = new(source).unwrap();
    let first = fold.reduce(&rows(&["1", "2.5"])).unwrap();
    assert_eq!(&*first, r#"{"n":3.5,"key":"a","id":"id"}"#);
    let again = fold.reduce_again(&[first, "{\"n\":4}".into()]).unwrap();
    assert_eq!(&*again, r#"{"again":[3.5,4]}"#);
    let mut none = new("function () {}").unwrap();
    assert_eq!(&*none.reduce(&rows(&["1"])).unwrap(), "null");
}

#[test]
fn what_fails_is_told() {
    let error = |source: &str| {
        let mut fold = new(source).map_err(|error| error.to_string())?;
        fold.reduce(&rows(&["1"]))
            .map_err(|error| error.to_string())
    };
    assert_eq!(
        error("function () {\n throw new Error('no') }").unwrap_err(),
        "line 2: Error: no"
    );
    assert!(
        error("function () { for (;;) ; }")
            .unwrap_err()
            .contains("too long")
    );
    assert!(
        error("function () { return 'x'.repeat(1 << 17) }")
            .unwrap_err()
            .contains("little of many")
    );
    assert!(
        error("function () { return 'x'.repeat(5000) }")
            .unwrap_err()
            .contains("must shrink")
    );
    assert!(error("7").unwrap_err().contains("one function"));
}

#[test]
fn rows_are_given_in_bounded_numbers() {
    let mut all = rows(&["1"; ROWS_AT_ONCE - 1]);
    assert!(!all.is_full() && !all.is_empty());
    all.add("1", "\"id\"", "1");
    assert!(all.is_full());
}
