//! What stands in quotes is one word, which is no program where an option or an operand stands.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn values_and_operands_in_quotes_may_be_unknown() {
    assert_left_alone(
        "rm",
        &[
            "docker exec \"$C\" ls",
            "docker exec -it \"$C\" ls -l \"$x\"",
            "docker exec -u \"$U\" -w \"$D\" \"$C\" ls",
            "docker run --rm \"$IMAGE\" ls",
            "docker run --rm -v \"$PWD:/w\" -e \"$E\" \"$IMAGE\" ls",
            "kubectl exec -i pod -- psql -c \"select 1\" -U \"$USER\"",
            "kubectl exec -n \"$NS\" pod -c app -- ls \"$x\"",
            "kubectl exec -it \"$POD\" -- ls \"$x\"",
            "timeout \"$T\" npm test",
            "timeout \"$T\" cargo test -p \"$x\"",
            "uv run --project \"$P\" pytest",
            "uv run --with \"$W\" --python \"$V\" pytest -k \"$x\"",
            "watch -n \"$N\" df -h",
        ],
    );
}

#[test]
fn values_and_operands_in_quotes_hide_nothing() {
    assert_found(
        "rm",
        &[
            "docker exec \"$C\" rm x",
            "docker exec $C ls",
            "docker exec \"$C\" \"$x\"",
            "docker exec -it \"$C\" \"$x\" y",
            "docker exec \"$C\"",
            "docker exec -u \"$U\" \"$C\" \"$x\" y",
            "docker exec -u -e \"$x\" \"$y\" z",
            "docker exec --detach-keys -e \"$x\" \"$y\" z",
            "docker exec --detach-keys -u \"$x\" -e \"$y\" \"$z\" z",
            "docker exec \"$x\" -e \"$y\" \"$z\" z",
            "docker exec -u $U web ls",
            "docker exec \"${C[@]}\" ls",
            "docker \"$x\" \"$C\" ls rm",
            "x=--entrypoint=rm; docker run \"$x\" image y",
            "docker run \"$IMAGE\" rm x",
            "kubectl exec pod -- rm x",
            "kubectl exec pod -- \"$x\" y",
            "kubectl exec -c -- ls rm x",
            "kubectl exec $POD -- ls rm x",
            "x=-c; kubectl exec \"$x\" -- ls rm y",
            "kubectl exec pod rm x",
            "timeout \"$T\" rm x",
            "timeout \"$T\" 5 rm x",
            "timeout $T ls",
            "timeout \"$T\" \"$x\" y",
            "timeout -v \"$T\" \"$x\" y",
            "timeout \"${T[@]}\" ls",
            "uv run --project \"$P\" rm x",
            "uv run --project $P ls",
            "uv run --project \"$P\" \"$x\" y",
            "uv run --isolated \"$x\" y",
            "uv run -p --project \"$x\" y",
            "watch -n \"$N\" rm x",
            "watch -n \"$N\" 'ls; rm x'",
            "watch -n \"$N\" \"$x\"",
            "watch \"$x\"",
        ],
    );
}
