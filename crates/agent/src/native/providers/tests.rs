use proptest::prelude::*;
use reqwest::Url;

use super::*;
use crate::native::endpoint::{Endpoint, EndpointKind};

fn setup(endpoints: Vec<Endpoint>) -> ModelSetup {
    let mut setup = ModelSetup::default();
    setup.endpoints = endpoints;
    setup
}

fn providers(names: &[String]) -> Providers {
    let endpoints = names
        .iter()
        .map(|name| {
            Endpoint::new(name, EndpointKind::Other, Url::parse("http://127.0.0.1:9/v1").unwrap())
        })
        .collect();
    Providers::new(&setup(endpoints)).unwrap()
}

#[test]
fn without_an_endpoint_there_is_nothing() {
    assert!(Providers::new(&ModelSetup::default()).is_none());
}

#[test]
fn one_provider_is_not_named_in_its_models() {
    let one = providers(&["openrouter".to_owned()]);
    assert_eq!(one.show("openrouter", "openrouter/auto"), "openrouter/auto");
    assert_eq!(one.find("openrouter/auto").1, "openrouter/auto");
}

#[test]
fn names_that_belong_to_nobody_go_to_the_default_provider() {
    let two = providers(&["a".to_owned(), "b".to_owned()]);
    let (provider, model) = two.find("meta/llama");
    assert_eq!((provider.name(), model.as_str()), ("a", "meta/llama"));
    let (provider, model) = two.find("b/meta/llama");
    assert_eq!((provider.name(), model.as_str()), ("b", "meta/llama"));
    assert_eq!(two.default_id(&[]), "a/gpt-4o");
}

#[test]
fn where_nobody_names_a_model_the_first_that_can_chat_is_taken() {
    let one = providers(&["only".to_owned()]);
    let offers = |ids: &[&str]| -> Vec<OfferedModel> {
        let offer = |id: &&str| OfferedModel {
            id: (*id).to_owned(),
            provider: "only".to_owned(),
            model: Model::named(*id),
        };
        ids.iter().map(offer).collect()
    };
    let mixed = offers(&["whisper-1", "text-embedding-3-small", "gpt-image-1", "gpt-5"]);
    assert_eq!(one.default_id(&mixed), "gpt-5");
    assert_eq!(one.picked(&mixed).map(|offer| &*offer.id), Some("gpt-5"));
    // Better than one that is not there.
    assert_eq!(one.default_id(&offers(&["whisper-1", "tts-1"])), "whisper-1");
    let mut named =
        Endpoint::new("only", EndpointKind::Other, Url::parse("http://127.0.0.1:9").unwrap());
    named.table.model = Some("mine".to_owned());
    let named = Providers::new(&setup(vec![named])).unwrap();
    assert_eq!(
        (named.default_id(&mixed), named.default_summary(&mixed)),
        ("mine".to_owned(), None)
    );

    let says = one.default_summary(&mixed).unwrap();
    assert!(says.contains("`gpt-5` (one of 4)"), "{says}");
    let says = one.default_summary(&[]).unwrap();
    assert!(says.contains("`gpt-4o` (the endpoint lists none)"), "{says}");
}

proptest! {
    #[test]
    fn what_is_shown_is_found(
        names in prop::collection::btree_set("[a-z]{1,6}", 1..4),
        model in "[a-z/:.-]{1,12}",
    ) {
        let names: Vec<_> = names.into_iter().collect();
        let all = providers(&names);
        for name in &names {
            let (provider, found) = all.find(&all.show(name, &model));
            prop_assert_eq!((provider.name(), found.as_str()), (name.as_str(), model.as_str()));
        }
    }
}
