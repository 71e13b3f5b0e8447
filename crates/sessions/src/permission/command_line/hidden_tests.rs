//! What programs that run others take apart, or read once more, hides nothing.

use super::tests::{assert_found, assert_left_alone};

#[test]
fn variables_behind_a_program_may_be_several_words() {
    assert_found(
        "rm",
        &[
            "env A=$(echo 1 rm) x",
            "env A=`echo 1 rm` x",
            "v='1 rm'; env A=$v x",
            "v='1 rm'; env -i B=1 A=$v x",
            "v='1 rm'; env -u A=$v x",
            "v='1 rm'; env A+=$v x",
            "set -- '' rm; env A=\"$@\" x",
            "a=('' rm); env A=\"${a[@]}\" x",
            "v='1 rm'; nice env A=$v x",
            "v='1 rm'; exec env A=$v x",
            "v='1 rm'; echo y | xargs env A=$v x",
            "v='1 rm'; find . -exec env A=$v x \\;",
            "v='1 rm'; sudo A=$v x",
            "v='1 rm'; A=1 env B=$v x",
            "v='1 rm'; timeout 5 env A=$v x",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "env FOO=\"$x\" make",
            "env FOO=\"$(date)\" BAR=\"a${b}c\" make",
            "FOO=$x make",
            "FOO=$(date) BAR=$* make CC=$CC",
            "env FOO=1 make CC=$CC",
            "nice make CC=$CC",
            "export FOO=$x; make",
            "sudo make PREFIX=$x install",
        ],
    );
}

#[test]
fn a_plus_ends_no_command_of_find_unless_names_stand_before_it() {
    assert_found(
        "rm",
        &[
            "find . -maxdepth 0 -exec env -u + rm x \\;",
            "find . -maxdepth 0 -exec env -u + rm {} +",
            "find . -maxdepth 0 -exec nice -n {}+ rm x \\;",
            "find . -exec ls {} + -exec rm {} +",
            "find . -ok bwrap --setenv {} + rm x \\;",
        ],
    );
    assert_left_alone(
        "rm",
        &[
            "find . -name x -exec ls {} + -o -name rm",
            "find . -exec sudo ls {} + -name rm",
            "find . -exec grep -l a {} \\; -exec ls + \\; -name rm",
        ],
    );
    assert_found("ls +", &["find . -exec ls + \\;"]);
    assert_found("git push", &["find . -maxdepth 0 -exec git push \\;"]);
}
