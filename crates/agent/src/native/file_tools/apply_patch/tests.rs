use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::native::file_tools::read;
use crate::native::testing::TestSession;
use crate::native::tool::CallNeed;

async fn read(stage: &TestSession, names: &[&str]) {
    for name in names {
        stage.say(&read::tool(), json!({ "path": name })).await;
    }
}

fn ask(patch: &str) -> Value {
    json!({ "patch": patch })
}

const WHOLE: &str = "\
*** Begin Patch
*** Add File: new/file.txt
+first
+
+third
*** Update File: a.txt
@@
 one
-two
+2
+2b
 three
*** Update File: b.txt
*** Move to: moved/b.txt
@@ fn second() {
-    same
+    changed
*** Delete File: c.txt
*** End Patch
";

fn prepared_stage(stage: &TestSession) {
    stage.put("a.txt", "one\ntwo\nthree\n");
    stage.put("b.txt", "fn first() {\n    same\n}\nfn second() {\n    same\n}\n");
    stage.put("c.txt", "gone\n");
    std::fs::set_permissions(stage.path("b.txt"), PermissionsExt::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn files_are_added_changed_moved_and_deleted() {
    for stage in [TestSession::new(), TestSession::of_editor()] {
        prepared_stage(&stage);
        read(&stage, &["a.txt", "b.txt", "c.txt"]).await;
        let prepared = stage.prepare(&tool(), ask(WHOLE)).await.unwrap();
        assert_eq!(prepared.need, CallNeed::Permission { key: "edit".into() });
        assert_eq!(prepared.shown.title, "Patch new/file.txt, a.txt and 3 more");
        assert_eq!(prepared.shown.content.len(), 5);
        assert_eq!(prepared.shown.locations[1].line, Some(2));
        assert_eq!(stage.get("a.txt"), "one\ntwo\nthree\n");

        prepared.work.await.unwrap();
        let get =
            |name: &str| stage.client.held(&stage.path(name)).unwrap_or_else(|| stage.get(name));
        assert_eq!(get("new/file.txt"), "first\n\nthird\n");
        assert_eq!(get("a.txt"), "one\n2\n2b\nthree\n");
        assert_eq!(
            get("moved/b.txt"),
            "fn first() {\n    same\n}\nfn second() {\n    changed\n}\n"
        );
        let mode = std::fs::metadata(stage.path("moved/b.txt")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o755);
        assert!(!stage.path("b.txt").exists() && !stage.path("c.txt").exists());
    }
}

#[tokio::test]
async fn nothing_is_changed_when_one_file_does_not_fit() {
    for (spoil, why) in [
        ("*** Update File: a.txt\n@@\n-not there\n+x\n", "`a.txt` cannot be patched"),
        ("*** Update File: unread.txt\n@@\n-x\n+y\n", "read it first"),
        ("*** Update File: missing.txt\n@@\n-x\n+y\n", "does not exist"),
        ("*** Add File: c.txt\n+x\n", "exists already"),
        ("*** Delete File: ../outside\n", "outside"),
        ("*** Update File: b.txt\n*** Move to: a.txt\n", "exists already"),
        ("*** Update File: b.txt\n@@\n-    same\n+    x\n", "2 times, at lines 2, 5"),
        ("*** Delete File: new.txt\n", "does not exist"),
        ("*** Something: else\n", "stands where"),
        ("*** Update File: a.txt\nno mark\n", "begins neither"),
    ] {
        let stage = TestSession::new();
        prepared_stage(&stage);
        stage.put("unread.txt", "x\n");
        read(&stage, &["a.txt", "b.txt", "c.txt"]).await;
        let patch = format!("*** Begin Patch\n*** Add File: new.txt\n+new\n{spoil}*** End Patch");
        let error = stage.fail(&tool(), ask(&patch)).await;
        assert!(error.contains(why), "{error}");
        assert!(!stage.path("new.txt").exists());
        assert_eq!(stage.get("a.txt"), "one\ntwo\nthree\n");
    }
}

#[tokio::test]
async fn a_file_that_changes_while_somebody_thinks_stops_the_whole_patch() {
    let stage = TestSession::new();
    prepared_stage(&stage);
    read(&stage, &["a.txt", "b.txt", "c.txt"]).await;
    let prepared = stage.prepare(&tool(), ask(WHOLE)).await.unwrap();
    stage.put("c.txt", "someone else's\n");
    assert!(prepared.work.await.unwrap_err().0.contains("meantime"));
    assert!(!stage.path("new").exists() && stage.path("b.txt").exists());
    assert_eq!(stage.get("a.txt"), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn unified_diffs_are_taken_also_with_wrong_counts() {
    let stage = TestSession::new();
    prepared_stage(&stage);
    read(&stage, &["a.txt", "b.txt", "c.txt"]).await;
    let diff = "```diff
diff --git a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1,9 +1,2 @@
 one
-two
+2
 three
diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,1 @@
+made
diff --git a/c.txt b/c.txt
deleted file mode 100644
--- a/c.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/b.txt b/d.txt
similarity index 90%
rename from b.txt
rename to d.txt
--- a/b.txt
+++ b/d.txt
@@ -4,3 +4,3 @@
 fn second() {
-    same
+    changed
 }
```
";
    stage.say(&tool(), ask(diff)).await;
    assert_eq!(stage.get("a.txt"), "one\n2\nthree\n");
    assert_eq!(stage.get("new.txt"), "made\n");
    assert!(stage.get("d.txt").ends_with("fn second() {\n    changed\n}\n"));
    assert!(!stage.path("b.txt").exists() && !stage.path("c.txt").exists());

    // Two files without git's heads, the second behind a lost space, no newline at the end.
    stage.put("x", "1\n\n3");
    stage.put("y", "1\r\n2\r\n");
    read(&stage, &["x", "y"]).await;
    let diff = "--- x\n+++ x\n@@ -1,3 +1,3 @@\n-1\n+one\n\n 3\n--- y\n+++ y\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n";
    stage.say(&tool(), ask(diff)).await;
    assert_eq!((stage.get("x"), stage.get("y")), ("one\n\n3".into(), "1\r\ntwo\r\n".into()));

    for bad in ["", "nothing", "--- a\n+++ a\n@@ broken\n", "*** Begin Patch\n*** End Patch"] {
        let error = stage.fail(&tool(), ask(bad)).await;
        assert!(error.contains("cannot be read"), "{error}");
    }
}

#[tokio::test]
async fn protected_places_are_named_in_the_key() {
    let stage = TestSession::new();
    let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Add File: .vscode/tasks.json\n+{}\n\
                 *** Add File: .git/hooks/pre-commit\n+x\n*** End Patch";
    let prepared = stage.prepare(&tool(), ask(patch)).await.unwrap();
    let key = "edit:protected:.git/hooks/pre-commit,.vscode/tasks.json".into();
    assert_eq!(prepared.need, CallNeed::Permission { key });
}

#[test]
fn parts_are_found_by_what_is_around_them() {
    for (whole, body, expected) in [
        // New lines alone: at the end, or below a head.
        ("a\nb\n", "+c\n", "a\nb\nc\n"),
        ("a\nb\n", "@@ a\n+c\n", "a\nc\nb\n"),
        ("", "+c\n", "c\n"),
        // No newline at the end stays so.
        ("a\nb", " a\n-b\n+c\n", "a\nc"),
        // Two parts, the second found below the first.
        ("x\na\nx\nb\n", "@@\n-x\n+1\n a\n@@\n-x\n+2\n b\n", "1\na\n2\nb\n"),
        // Heads in a row.
        (
            "class A\n  f\n    x\nclass B\n  f\n    x\n",
            "@@ class B\n@@ f\n-    x\n+    y\n",
            "class A\n  f\n    x\nclass B\n  f\n    y\n",
        ),
        // At the end of the file.
        ("x\ny\nx\n", "-x\n+z\n*** End of File\n", "x\ny\nz\n"),
        // White space of context lines stays as it is in the file.
        ("  a \n\tb\n", " a\n-b\n+\tc\n", "  a \n\tc\n"),
        // A CR in a file of both kinds stays as well.
        ("a\r\nb\nc\r\n", " a\n-b\n+x\n c\n", "a\r\nx\nc\r\n"),
        // A line that only separates.
        ("a\nb\n", "-a\n+x\n\n", "x\nb\n"),
    ] {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
        let steps = envelope::read(&patch).unwrap();
        let PatchAction::Update { edit: PatchEdit::Hunks(hunks), .. } = &steps[0].action else {
            panic!()
        };
        assert_eq!(envelope::apply(whole, hunks).unwrap(), expected, "{body}");
    }
}

#[test]
fn what_models_put_around_a_patch_does_not_matter() {
    for patch in [
        "*** Begin Patch\n*** Delete File: x\n*** End Patch",
        "```\n*** Begin Patch\n*** Delete File: x\n*** End Patch\n```",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF",
        "*** Delete File: x",
        "*** Begin Patch\n\n*** Delete File:  x \n\n",
    ] {
        assert!(envelope::is_one(patch));
        let steps = envelope::read(patch).unwrap();
        assert_eq!(steps, [PatchStep { path: "x".into(), action: PatchAction::Delete }], "{patch}");
    }
}

/// The patch that turns one text into the other, in the way that models write it.
fn envelope_of(old: &str, new: &str) -> String {
    let mut patch = "*** Begin Patch\n*** Update File: f\n".to_owned();
    let mut whole = diffy::DiffOptions::new();
    let diff = whole.set_context_len(usize::MAX).create_patch(old, new);
    patch.push_str("@@\n");
    for line in diff.hunks().iter().flat_map(diffy::Hunk::lines) {
        let (mark, text) = match line {
            diffy::Line::Context(text) => (' ', text),
            diffy::Line::Delete(text) => ('-', text),
            diffy::Line::Insert(text) => ('+', text),
        };
        patch.push(mark);
        patch.push_str(text.trim_end_matches('\n'));
        patch.push('\n');
    }
    patch.push_str("*** End of File\n*** End Patch\n");
    patch
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-c+@ *-]{0,3}x", 1..12)
}

proptest! {
    #[test]
    fn a_patch_of_the_whole_file_gives_the_new_one(old in lines(), new in lines()) {
        let [old, new] = [old, new].map(|lines| lines.join("\n") + "\n");
        prop_assume!(old != new);
        let patch = envelope_of(&old, &new);
        let steps = envelope::read(&patch).unwrap();
        let PatchAction::Update { edit: PatchEdit::Hunks(hunks), .. } = &steps[0].action else { panic!() };
        prop_assert_eq!(envelope::apply(&old, hunks).unwrap(), new);
    }

    #[test]
    fn a_unified_diff_gives_the_new_file_whatever_its_counts_say(
        old in lines(),
        new in lines(),
        ends in any::<[bool; 2]>(),
        wrong in 0_usize..9,
    ) {
        let text = |lines: Vec<String>, ends: bool| lines.join("\n") + if ends { "\n" } else { "" };
        let (old, new) = (text(old, ends[0]), text(new, ends[1]));
        prop_assume!(old != new);
        let diff = diffy::create_patch(&old, &new).to_string();
        // Only the counts, and only of heads: a line of text may look like one.
        let mut spoilt = String::new();
        for line in diff.split_inclusive('\n') {
            match starts_hunk(line) {
                Some((from, to)) => writeln!(spoilt, "@@ -{from},{wrong} +{to},{wrong} @@").unwrap(),
                None => spoilt.push_str(line),
            }
        }
        let counted = unified::recounted(&spoilt);
        let steps = unified::read(&counted).unwrap();
        let PatchAction::Update { edit: PatchEdit::Unified(patch), .. } = &steps[0].action else { panic!() };
        prop_assert_eq!(unified::apply(&old, patch).unwrap(), new);
    }

    #[test]
    fn no_text_makes_the_parsers_panic(
        parts in prop::collection::vec(prop::sample::select(vec![
            "*** Begin Patch", "*** Update File: x", "*** Add File: ", "*** Move to: y", "@@", "@@ a",
            "@@ -1,2 +1,2 @@", "--- a/x", "+++ b/x", "+a", "-a", " a", "", "*** End of File", "é",
            "diff --git a/x b/x", "\\ No newline at end of file", "*** End Patch", "rename from x",
            "--- /dev/null", "@@ -99999999999999999999 +1 @@", "@@ -18446744073709551615 +1 @@",
        ]), 0..12),
        whole in "[a\n]{0,6}",
    ) {
        let patch = parts.join("\n");
        let counted = unified::recounted(&patch);
        let steps = [envelope::read(&patch), unified::read(&counted)].into_iter().flatten().flatten();
        for step in steps {
            if let PatchAction::Update { edit, .. } = step.action {
                let _ = match edit {
                    PatchEdit::Hunks(hunks) => envelope::apply(&whole, &hunks),
                    PatchEdit::Unified(patch) => unified::apply(&whole, &patch),
                };
            }
        }
    }
}

fn starts_hunk(line: &str) -> Option<(usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let start = |range: &str| range.split(',').next()?.parse().ok();
    Some((start(old)?, start(new)?))
}
