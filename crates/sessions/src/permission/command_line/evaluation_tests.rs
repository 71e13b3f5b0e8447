//! What bash reads once more, as numbers, names of variables or prompts, hides nothing.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn backquotes_in_here_documents_hide_nothing() {
    assert_found(
        "rm",
        &[
            // To bash the quotes are letters, to dash they are quotes.
            "cat <<E\n`echo \\\"$(rm x)\\\"`\nE",
            "cat <<E\n`echo \\\"; rm x; echo \\\"`\nE",
            "cat <<E\n`echo \\\"a; rm x; \\\"`\nE",
            "cat <<E\n`echo \\'; rm x; echo \\'`\nE",
            "cat <<E\n`echo '\\\"'; rm x; echo '\\\"'`\nE",
            // The other way round.
            "cat <<E\n`echo \"\\\"; rm x; echo \\\"\"`\nE",
            "cat <<E\n${x:-`echo \\\"; rm x; echo \\\"`}\nE",
            "cat <<E\n${x:-\"`echo \\\"; rm x; echo \\\"`\"}\nE",
            "cat <<E\n$(echo `echo \\\"; rm x; echo \\\"`)\nE",
            "cat <<E\n$((1+`echo 1 \\\"; rm x; echo \\\"`))\nE",
            "echo $((1+`echo 1 \\\"; rm x; echo \\\"`))",
            "echo \"$((1+`echo 1 \\\"; rm x; echo \\\"`))\"",
            "echo ${x:-`echo \\\"; rm x; echo \\\"`}",
            "echo \"${x:-`echo \\\"; rm x; echo \\\"`}\"",
            "echo \"${x:-\"`echo \\\"; rm x; echo \\\"`\"}\"",
            "echo \"${x:-$(echo `echo \\\"; rm x; echo \\\"`)}\"",
            "x=a; echo \"${x/`echo \\\"; rm x; echo \\\"`}\"",
            "echo \"$(echo `echo \\\"; rm x; echo \\\"`)\"",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "cat <<E\n`echo \\\"a b\\\"` \\\"x; rm\\\"\nE",
            "echo \"`echo \\\"it's; rm x\\\"`\"",
            "echo \"$(echo \"`echo \\\"it's; rm x\\\"`\")\"",
        ],
    );
}
