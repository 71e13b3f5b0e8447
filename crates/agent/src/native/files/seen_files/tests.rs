use super::*;

#[test]
fn the_oldest_is_forgotten_first() {
    let mut seen = SeenFiles::default();
    let path = |n: usize| PathBuf::from(format!("/{n}"));
    for n in 0..MAX_FILES {
        seen.note(&path(n), [1; 32]);
    }
    seen.note(&path(0), [2; 32]);
    seen.note(&path(MAX_FILES), [3; 32]);
    assert_eq!(seen.files.len(), MAX_FILES);
    assert_eq!(seen.of(&path(0)), Some([2; 32]));
    assert_eq!(seen.of(&path(1)), None);
    seen.forget(&path(0));
    assert_eq!(seen.of(&path(0)), None);
}
