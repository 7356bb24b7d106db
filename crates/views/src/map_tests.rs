#![allow(clippy::unwrap_used)]

use super::*;
use crate::collate::decode;

fn document(value: &str) -> Document<'_> {
    Document {
        id: b"some/id",
        value: value.as_bytes(),
        version: "0f".to_owned(),
        expiry_ms: None,
    }
}

fn call(source: &str, value: &str) -> Result<Vec<String>, String> {
    let mut map = Map::new(source).map_err(|error| error.to_string())?;
    let rows = map
        .call(&document(value))
        .map_err(|error| error.to_string())?;
    let row = |row: Emitted| format!("{} {}", decode(&row.key).unwrap(), row.value);
    Ok(rows.into_iter().map(row).collect())
}

#[test]
fn a_function_emits_rows() {
    let source = "function (doc, meta) {\n  emit([doc.kind, doc.n], meta.id);\n  emit(null);\n};\n";
    let rows = call(source, "{\"kind\":\"a\",\"n\":1.5}").unwrap();
    assert_eq!(rows, ["[\"a\",1.5] \"some/id\"", "null null"]);
    assert_eq!(
        call("(doc) => { emit(doc.length, doc) }", "no json").unwrap(),
        ["7 \"no json\""]
    );
    assert_eq!(
        call(
            "function (doc, meta) { emit(meta.version, meta.expiry) }",
            "1"
        )
        .unwrap(),
        ["\"0f\" null"]
    );
    assert_eq!(
        call("function (doc) { if (doc.a) emit(1) }", "{}").unwrap(),
        [""; 0]
    );
    assert_eq!(
        call(
            "// by year\nfunction (doc) { emit(new Date(doc).getFullYear()) }",
            "\"2024-02-03\""
        )
        .unwrap(),
        ["2024 null"]
    );
    assert_eq!(
        call("function (doc) { emit(doc.a, undefined) }", "{}").unwrap(),
        ["null null"]
    );
    let mut map =
        Map::new("function (doc, meta) { emit(meta.id_base64, [doc, meta.value_base64]) }")
            .unwrap();
    let binary = Document {
        id: b"\xff",
        value: b"\xfe\x00",
        version: String::new(),
        expiry_ms: Some(5),
    };
    let rows = map.call(&binary).unwrap();
    assert_eq!(
        (decode(&rows[0].key).unwrap().as_str(), &*rows[0].value),
        ("\"/w==\"", "[null,\"/gA=\"]")
    );
}

#[test]
fn what_is_no_function_is_refused_with_its_line() {
    let error = |source: &str| Map::new(source).err().unwrap();
    let syntax = error("function (doc) {\n  emit(doc.a;\n}");
    assert_eq!(syntax.line, Some(2), "{syntax}");
    assert!(syntax.message.starts_with("SyntaxError"), "{syntax}");
    for source in ["", "7", "{}", "emit(1)", "function a() {} function b() {}"] {
        assert!(Map::new(source).is_err(), "{source}");
    }
}

#[test]
fn what_a_function_throws_is_told_and_the_next_document_is_not_harmed() {
    let mut map = Map::new("function (doc) {\n  if (doc.bad)\n    throw new Error('bad ' + doc.bad);\n  emit(doc.x.y);\n}").unwrap();
    let thrown = map.call(&document("{\"bad\":3}")).unwrap_err();
    assert_eq!(
        (thrown.line, thrown.message.as_str()),
        (Some(3), "Error: bad 3")
    );
    assert!(
        map.call(&document("{}"))
            .unwrap_err()
            .message
            .starts_with("TypeError")
    );
    assert_eq!(map.call(&document("{\"x\":{\"y\":1}}")).unwrap().len(), 1);
    assert_eq!(
        call("function () { throw 'text' }", "1").unwrap_err(),
        "text"
    );
}

#[test]
fn bounds_hold() {
    let mut map = Map::new(
        "function (doc) {
           if (doc === 'loop') for (;;) ;
           if (doc === 'caught') try { for (;;) ; } catch (e) { emit(1) }
           if (doc === 'regexp') /(a+)+$/.test('a'.repeat(64) + 'b');
           if (doc === 'memory') { let s = 'x'; for (;;) s += s + [s].concat(s); }
           if (doc === 'rows') for (let i = 0; i < 1e6; i++) emit(i);
           if (doc === 'swallowed') for (let i = 0; i < 2e3; i++) try { emit(i) } catch (e) {}
           if (doc === 'key') emit('k'.repeat(1 << 20));
           if (doc === 'longer') emit('k'.repeat(1 << 15));
           if (doc === 'value') emit(1, 'v'.repeat(1 << 20));
           if (doc === 'deep') { let a = []; for (let i = 0; i < 1e3; i++) a = [a]; emit(a); }
           if (doc === 'cycle') { let a = []; a.push(a); emit(a); }
           if (doc === 'recursion') (function f() { f() + 1 })();
           emit(doc);
         }",
    )
    .unwrap();
    for (doc, reason) in [
        ("loop", "too long"),
        ("caught", "too long"),
        ("regexp", "too long"),
        ("memory", ""),
        ("rows", "more rows"),
        ("swallowed", "more rows"),
        ("key", "more emitted"),
        ("longer", "a key of"),
        ("value", "more emitted"),
        ("deep", "nested"),
        ("cycle", "circular"),
        ("recursion", "stack"),
    ] {
        let error = map.call(&document(&format!("\"{doc}\""))).unwrap_err();
        assert!(error.message.contains(reason), "{doc}: {error}");
        assert_eq!(map.call(&document("1")).unwrap().len(), 1, "behind {doc}");
    }
}

#[test]
fn functions_have_neither_clock_nor_chance_nor_memory() {
    for source in [
        "function () { emit(Date.now()) }",
        "function () { emit(new Date()) }",
        "function () { emit(Math.random()) }",
        "function () { count = 1; emit(count) }",
        "function () { globalThis.count = 1 }",
        "function () { emit = null }",
        "function () { JSON.stringify = null }",
        "function () { new (new Date(1).constructor)() }",
    ] {
        assert!(call(source, "1").is_err(), "{source}");
    }
}

#[test]
fn a_map_is_a_function_of_the_document() {
    for source in [
        // State in a closure, in the function itself, in what the engine has.
        "(() => { let n = 0; return function () { emit(n++) } })()",
        "function f() { f.n = (f.n || 0) + 1; emit(f.n) }",
        "function () { emit(tag`x`.n); function tag(t) { try { t.n = 1 } catch (e) {} return t } }",
        "function () { emit(/a/g.lastIndex); const r = /a/g; r.test('aa'); emit(r.lastIndex) }",
        "function () {
            const all = [globalThis, emit, sum, log, Date, Date.UTC, Date.prototype, Math, JSON, Reflect, Symbol, Error,
                Error.prototype, Object, Object.prototype, Array.prototype, String.prototype, Function.prototype,
                RegExp.prototype, Map.prototype, Uint8Array, Object.getPrototypeOf(Uint8Array), ArrayBuffer.prototype,
                Object.getPrototypeOf(function* () {}),
                Object.getPrototypeOf([][Symbol.iterator]()), Object.getPrototypeOf(new Set().values()),
                Object.getPrototypeOf(Object.getPrototypeOf((function* () {})()))];
            for (const [n, value] of all.entries()) {
                emit(n, Object.hasOwn(value, 'kept'));
                try { value.kept = 1 } catch (e) {}
                try { Object.defineProperty(value, 'kept', { value: 1 }) } catch (e) {}
                try { Object.setPrototypeOf(value, null) } catch (e) {}
                for (const name of Reflect.ownKeys(value)) try { value[name] = 7 } catch (e) {}
            }
            emit(Object.keys(globalThis), [[1].map(String), 'a'.length, new Date(0).getTime(), Math.max(1, 2)]);
        }",
    ] {
        let mut map = Map::new(source).unwrap();
        let first = map.call(&document("1"));
        assert!(first.is_ok(), "{source}: {first:?}");
        for _ in 0..3 {
            assert_eq!(map.call(&document("1")), first, "{source}");
        }
    }
}

#[test]
fn what_is_frozen_hinders_no_function() {
    let source = "function (words) {
        const count = {};
        for (const word of words) count[word] = (Object.hasOwn(count, word) ? count[word] : 0) + 1;
        const error = new Error('no');
        error.name = 'Own';
        error.message = 'other';
        function Point(x) { this.x = x }
        Point.prototype.toString = function () { return 'point ' + this.x };
        emit(count, [String(error), String(new Point(3)), isArray(words), isArray({}), toJSON({ a: 1 })]);
        log('nobody reads this');
    }";
    let words = "[\"constructor\",\"toString\",\"constructor\",\"a\"]";
    assert_eq!(
        call(source, words).unwrap(),
        [r#"{"constructor":2,"toString":1,"a":1} ["Own: other","point 3",true,false,"{\"a\":1}"]"#]
    );
}

#[test]
fn halves_of_characters_become_replacements() {
    let source =
        r#"function (doc) { emit(doc.text.charAt(0), ['\\ud800', doc.text, '\ud83d\ude00']) }"#;
    assert_eq!(
        call(source, r#"{"text":"\ud83d\ude00"}"#).unwrap(),
        ["\"\u{fffd}\" [\"\\\\ud800\",\"\u{1f600}\",\"\u{1f600}\"]"]
    );
}

#[test]
fn what_was_called_before_decides_nothing() {
    // Just within and just beyond the bound of steps, whatever came before.
    let source = "function (n) { for (let i = 0; i < n; i++) ; emit(1) }";
    let outcome = |calls: &[u32]| {
        let mut map = Map::new(source).unwrap();
        let all = calls
            .iter()
            .map(|n| map.call(&document(&n.to_string())).is_ok());
        all.last()
    };
    for n in [2_989_000_u32, 2_994_000, 2_999_000, 3_004_000, 3_009_000] {
        let alone = outcome(&[n]);
        for before in [1, 3_333, 6_666, 9_999] {
            assert_eq!(outcome(&[before, n]), alone, "{n} behind {before}");
        }
    }
}

#[test]
fn what_the_engine_leaks_ends_no_process() {
    // With its own assertions the engine would abort here, when it is dropped.
    let source = "function () { Object.freeze(Array); emit(1) }";
    assert_eq!(call(source, "1").unwrap(), ["1 null"]);
}
