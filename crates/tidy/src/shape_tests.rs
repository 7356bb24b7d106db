use super::*;
use crate::fixture::measured;

fn of(text: &str) -> Vec<String> {
    measured(measure, &[("crates/new/src/a.rs", text)])
}

#[test]
fn files_have_a_limit() {
    assert_eq!(of(&"// line\n".repeat(800)), [""; 0]);
    assert_eq!(
        of(&"// line\n".repeat(801)),
        ["file-lines crates/new/src/a.rs 801"]
    );
}

#[test]
fn functions_have_a_limit_without_their_documentation() {
    let function = |lines: usize| {
        format!(
            "/// What\n/// it does.\n#[inline]\nfn f() {{\n{}}}\n",
            "g();\n".repeat(lines)
        )
    };
    assert_eq!(of(&function(98)), [""; 0]);
    assert_eq!(
        of(&function(99)),
        ["function-lines crates/new/src/a.rs f 101"]
    );
    let method = format!("impl S {{ {} }}", function(99));
    assert_eq!(of(&method), ["function-lines crates/new/src/a.rs f 101"]);
}

#[test]
fn parameters_have_a_limit_without_self() {
    assert_eq!(
        of("impl S { fn f(&self, a: A, b: A, c: A, d: A, e: A, f: A) {} }"),
        [""; 0]
    );
    assert_eq!(
        of("fn f(a: A, b: A, c: A, d: A, e: A, f: A, g: A) {}"),
        ["parameters crates/new/src/a.rs f 7"]
    );
}

#[test]
fn structs_have_a_limit() {
    let fields = |count: usize| {
        format!(
            "struct S {{ {} }}",
            (0..count).map(|i| format!("f{i}: u8,")).collect::<String>()
        )
    };
    assert_eq!(of(&fields(20)), [""; 0]);
    assert_eq!(of(&fields(21)), ["struct-fields crates/new/src/a.rs S 21"]);
}
