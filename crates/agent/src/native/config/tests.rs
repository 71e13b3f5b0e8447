use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::native::endpoint::{EndpointKind, KINDS};
use crate::native::lenient::{self, ConfigDuration};
use crate::native::secret::Secret;

fn resolve(text: &str, variables: &[(&str, &str)]) -> Result<ModelSetup, ConfigError> {
    let config: Config = toml::from_str(text).unwrap();
    let lookup = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    config.resolve(&lookup)
}

fn key(setup: &ModelSetup, at: usize) -> Option<&str> {
    setup.endpoints[at].key.as_ref().map(Secret::reveal)
}

#[test]
fn with_nothing_there_is_nothing() {
    assert!(resolve("", &[]).unwrap().endpoints.is_empty());
    assert!(
        resolve("", &[("OPENAI_API_KEY", " "), ("OPENAI_MODEL", "m")])
            .unwrap()
            .endpoints
            .is_empty()
    );
}

#[test]
fn a_variable_that_means_nothing_is_named() {
    for (name, value) in [
        ("OPENAI_MAX_TOKENS", "abc"),
        ("OPENAI_MAX_TOKENS", "0"),
        ("OPENAI_TEMPERATURE", "9"),
        ("OPENAI_TEMPERATURE", "warm"),
        ("OPENAI_BASE_URL", "localhost:11434"),
    ] {
        let error = resolve("", &[(name, value)]).unwrap_err();
        assert_eq!(error.variable(), Some(name), "{error}");
        assert!(error.to_string().starts_with(name), "{error}");
    }
    assert_eq!(resolve("temperature = 9.0", &[]).unwrap_err().variable(), None);
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let two = "[providers.a]\nkind = \"ollama\"\n[providers.b]\nkind = \"vllm\"\n";
    for (text, said) in [
        ("compact_at_percent = 0", "native.compact_at_percent"),
        ("compact_at_percent = 101", "native.compact_at_percent"),
        ("max_requests = 0", "native.max_requests"),
        ("[sandbox]\nnetwork = true", "native.sandbox.network"),
        (
            "[providers.a]\nkind = \"ollama\"\ncontext_window = 0",
            "native.providers.a.context_window",
        ),
        (&format!("model = \"c/x\"\n{two}"), "no provider `c`; there are: a, b"),
    ] {
        let error = resolve(text, &[]).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    // A name with a slash of a provider that is named.
    let text = format!("provider = \"b\"\nmodel = \"qwen/x\"\n{two}");
    assert_eq!(resolve(&text, &[]).unwrap().endpoints[1].table.model.as_deref(), Some("qwen/x"));
}

#[test]
fn tools_are_switched_off_for_a_model_a_provider_or_all() {
    use crate::native::provider::Provider;
    let text = "
        [providers.a]
        kind = \"ollama\"
        tools = false
        [providers.b]
        kind = \"vllm\"
        [models.\"a/clever\"]
        tools = true
        [models.dull]
        tools = false
    ";
    let wants = |text: &str, at: usize, model: &str| {
        Provider::new(resolve(text, &[]).unwrap().endpoints[at].clone()).wants_tools(model)
    };
    assert!(!wants(text, 0, "any") && wants(text, 0, "clever") && wants(text, 0, "clever:latest"));
    assert!(wants(text, 1, "any") && !wants(text, 1, "dull"));
    let none = format!("tools = false\n{text}");
    assert!(!wants(&none, 1, "any") && wants(&none, 0, "clever"));
    // A variable is for the whole run.
    assert_eq!(resolve(text, &[("OPENAI_TOOLS", "Off")]).unwrap().tools, Some(false));
    assert_eq!(resolve(text, &[("OPENAI_TOOLS", "")]).unwrap().tools, None);
    let error = resolve(text, &[("OPENAI_TOOLS", "some")]).unwrap_err();
    assert_eq!(error.variable(), Some("OPENAI_TOOLS"), "{error}");
}

#[test]
fn prices_are_in_dollars_per_million_tokens() {
    let priced = |price: &str| {
        resolve(&format!("[models.m]\nprice = {price}\n[providers.a]\nkind = \"ollama\""), &[])
    };
    let setup = priced("{ input = 1.25, output = 10 }").unwrap();
    let price = setup.endpoints[0].settings_of("m").unwrap().price.unwrap();
    assert_eq!((price.input, price.output, price.cached), (1.25, 10.0, None));
    assert_eq!(setup.endpoints[0].settings_of("n"), None);
    let error = priced("{ input = -1.0, output = 10.0 }").unwrap_err().to_string();
    assert!(error.contains("native.models.m"), "{error}");
}

#[test]
fn variables_alone_are_enough_and_have_the_usual_defaults() {
    let setup = resolve("", &[("OPENAI_API_KEY", " k\n")]).unwrap();
    let endpoint = &setup.endpoints[0];
    assert_eq!(endpoint.base.as_str(), "https://api.openai.com/v1");
    assert_eq!(endpoint.table.model.as_deref(), Some("gpt-4o"));
    assert_eq!((key(&setup, 0), endpoint.key_name.as_str()), (Some("k"), "OPENAI_API_KEY"));
    assert_eq!((endpoint.table.max_tokens, endpoint.table.temperature), (None, None));

    let setup = resolve(
        "",
        &[
            ("OPENAI_BASE_URL", "http://localhost:11434/v1/"),
            ("OPENAI_MODEL", "qwen3"),
            ("OPENAI_MAX_TOKENS", "100"),
            ("OPENAI_TEMPERATURE", "0.5"),
            ("OPENAI_SYSTEM_PROMPT", "Be brief."),
        ],
    )
    .unwrap();
    let endpoint = &setup.endpoints[0];
    assert_eq!(
        (endpoint.kind, endpoint.base.as_str()),
        (EndpointKind::Ollama, "http://localhost:11434/v1")
    );
    assert_eq!((key(&setup, 0), endpoint.table.model.as_deref()), (None, Some("qwen3")));
    assert_eq!((endpoint.table.max_tokens, endpoint.table.temperature), (Some(100), Some(0.5)));
    assert_eq!(setup.system_prompt.as_deref(), Some("Be brief."));
}

#[test]
fn addresses_are_taken_as_people_give_them() {
    let base = |url: &str| {
        resolve("", &[("OPENAI_BASE_URL", url)]).map(|setup| setup.endpoints[0].base.to_string())
    };
    assert_eq!(base("https://h/v1//").unwrap(), "https://h/v1");
    assert_eq!(base("https://h/v1/chat/completions").unwrap(), "https://h/v1");
    let bedrock = "https://bedrock-runtime.eu-west-1.amazonaws.com";
    assert_eq!(base(bedrock).unwrap(), format!("{bedrock}/openai/v1"));
    for bad in ["localhost:11434", "ftp://h", "h", "file:///etc"] {
        let error = base(bad).unwrap_err().to_string();
        assert!(error.contains("OPENAI_BASE_URL") && error.contains("http://"), "{error}");
    }
}

const TWO: &str = r#"
    provider = "work"
    model = "big"
    max_tokens = 7
    [providers.home]
    kind = "ollama"
    model = "small"
    [providers.work]
    base_url = "https://models.work.test/v1"
    api_key = "work-key"
    headers = { X-Team = "blue" }
    context_window = 1000
    images = true
    first_byte = "90s"
    idle = "3"
    retries = 0
"#;

#[test]
fn several_providers_have_each_their_own() {
    let setup = resolve(TWO, &[]).unwrap();
    assert_eq!(setup.default, 1);
    let [home, work] = setup.endpoints.as_slice() else { panic!("two") };
    assert_eq!(
        (home.base.as_str(), home.table.model.as_deref()),
        ("http://127.0.0.1:11434/v1", Some("small"))
    );
    assert_eq!((work.table.model.as_deref(), work.table.max_tokens), (Some("big"), Some(7)));
    assert_eq!((key(&setup, 0), key(&setup, 1)), (None, Some("work-key")));
    assert_eq!((work.table.context_window, work.table.images), (Some(1000), Some(true)));
    assert_eq!(work.waits.first_byte, Duration::from_secs(90));
    assert_eq!((work.waits.idle, work.waits.max_retries), (Duration::from_secs(3), 0));
}

#[test]
fn variables_win_for_the_default_provider_only() {
    let setup = resolve(TWO, &[("OPENAI_MODEL", "env"), ("OPENAI_MAX_TOKENS", "9")]).unwrap();
    assert_eq!(setup.endpoints[1].table.model.as_deref(), Some("env"));
    assert_eq!(setup.endpoints[1].table.max_tokens, Some(9));
    assert_eq!(setup.endpoints[0].table.model.as_deref(), Some("small"));
    assert_eq!(setup.endpoints[0].table.max_tokens, Some(7));
}

#[test]
fn a_key_goes_only_to_the_address_that_it_was_given_for() {
    // One that lies around in the environment is not for the provider at work.
    let setup = resolve(TWO, &[("OPENAI_API_KEY", "env-key")]).unwrap();
    assert_eq!((key(&setup, 0), key(&setup, 1)), (None, Some("work-key")));

    // Another address gets neither the key nor the headers of the first.
    let elsewhere = ("OPENAI_BASE_URL", "https://elsewhere.test/v1");
    let setup = resolve(TWO, &[elsewhere]).unwrap();
    assert_eq!((key(&setup, 1), setup.endpoints[1].table.headers.len()), (None, 0));
    assert_eq!(setup.endpoints[1].base.as_str(), "https://elsewhere.test/v1");

    let setup = resolve(TWO, &[elsewhere, ("OPENAI_API_KEY", "env-key")]).unwrap();
    assert_eq!(key(&setup, 1), Some("env-key"));

    let same = ("OPENAI_BASE_URL", "https://models.work.test/v2");
    assert_eq!(key(&resolve(TWO, &[same]).unwrap(), 1), Some("work-key"));
}

#[test]
fn keys_come_from_the_variable_that_is_named_or_usual() {
    let named =
        "[providers.x]\nbase_url = \"http://h\"\napi_key_env = \"MY_KEY\"\napi_key = \"file\"";
    assert_eq!(key(&resolve(named, &[("MY_KEY", "env")]).unwrap(), 0), Some("env"));
    let setup = resolve(named, &[]).unwrap();
    assert_eq!((key(&setup, 0), setup.endpoints[0].key_name.as_str()), (Some("file"), "MY_KEY"));

    let usual = "[providers.or]\nkind = \"openrouter\"";
    let setup = resolve(usual, &[("OPENROUTER_API_KEY", "r"), ("OPENAI_API_KEY", "o")]).unwrap();
    assert_eq!(key(&setup, 0), Some("r"));
    let proxied = "[providers.o]\nkind = \"openai\"\nbase_url = \"https://proxy.test/v1\"";
    assert_eq!(key(&resolve(proxied, &[("OPENAI_API_KEY", "o")]).unwrap(), 0), None);
    let own = "[providers.o]\nkind = \"openai\"\napi_key = \"file\"";
    assert_eq!(key(&resolve(own, &[("OPENAI_API_KEY", "env")]).unwrap(), 0), Some("env"));
}

#[test]
fn a_model_may_name_its_provider() {
    let two = "model = \"b/x/y\"\n[providers.a]\nkind = \"ollama\"\n[providers.b]\nkind = \"vllm\"";
    let setup = resolve(two, &[]).unwrap();
    assert_eq!((setup.default, setup.endpoints[1].table.model.as_deref()), (1, Some("x/y")));
    let one = "model = \"b/x\"\n[providers.b]\nkind = \"vllm\"";
    assert_eq!(resolve(one, &[]).unwrap().endpoints[0].table.model.as_deref(), Some("b/x"));
}

#[test]
fn mistakes_are_named() {
    let error = |text: &str| resolve(text, &[]).unwrap_err();
    let missing = |member| ConfigError::Missing { name: "x".to_owned(), member };
    assert_eq!(error("[providers.x]"), missing("base_url"));
    assert_eq!(error("[providers.x]\nkind = \"azure\""), missing("base_url"));
    assert_eq!(error("[providers.x]\nkind = \"bedrock\""), missing("region"));
    assert!(matches!(error("provider = \"y\""), ConfigError::NoSuchProvider { .. }));
    assert!(matches!(error("temperature = -1.0"), ConfigError::BadTemperature { .. }));
    assert!(matches!(error("temperature = nan"), ConfigError::BadTemperature { .. }));
    assert!(matches!(error("max_tokens = 0"), ConfigError::Zero { .. }));
    let slash = "[providers.\"a/b\"]\nkind = \"ollama\"";
    assert!(matches!(error(slash), ConfigError::BadName { .. }));
    let header = "[providers.x]\nkind = \"ollama\"\nheaders = { \"a b\" = \"c\" }";
    assert!(matches!(error(header), ConfigError::BadHeader { .. }));
    assert!(toml::from_str::<Config>("modell = \"x\"").is_err());
    assert!(toml::from_str::<Config>("[providers.x]\nurl = \"x\"").is_err());
}

#[test]
fn no_key_is_printed() {
    let setup = resolve(TWO, &[]).unwrap();
    let config: Config = toml::from_str(TWO).unwrap();
    let printed = format!("{setup:?}{config:?}");
    assert!(!printed.contains("work-key") && !printed.contains("blue"), "{printed}");
}

#[test]
fn numbers_are_read_as_javascript_reads_them() {
    let tokens = lenient::max_tokens;
    assert_eq!((tokens("4096"), tokens(" 12abc"), tokens("1e3")), (Some(4096), Some(12), Some(1)));
    assert_eq!((tokens("-5"), tokens("x"), tokens(""), tokens("0")), (None, None, None, None));
    let warmth = lenient::temperature;
    assert_eq!((warmth("0.7"), warmth(" .5x"), warmth("1e-1")), (Some(0.7), Some(0.5), Some(0.1)));
    assert_eq!((warmth("1.5e"), warmth("-1"), warmth("2.")), (Some(1.5), Some(-1.0), Some(2.0)));
    assert_eq!((warmth("NaN"), warmth("Infinity"), warmth("1e999")), (None, None, None));
}

fn any_table() -> impl Strategy<Value = ProviderTable> {
    let kind = prop::sample::select(KINDS.map(|(kind, _)| kind).to_vec());
    let text = || prop::option::of("\\PC{0,12}");
    let secret = || prop::option::of("\\PC{0,12}".prop_map(Secret::new));
    let headers =
        prop::collection::btree_map("[A-Za-z-]{1,8}", "\\PC{0,8}".prop_map(Secret::new), 0..3);
    let count = || prop::option::of(1..=u32::MAX);
    (
        (kind, text(), text(), secret(), text(), prop::collection::vec("\\PC{0,8}", 0..3), headers),
        (text(), text(), text(), prop::option::of(0..1u64 << 60), count()),
        (prop::option::of(0.0..2.0f64), any::<Option<bool>>(), any::<Option<bool>>(), count()),
        prop::option::of((0..1_000_000u64).prop_map(|s| ConfigDuration(Duration::from_secs(s)))),
    )
        .prop_map(|(first, second, third, wait)| ProviderTable {
            kind: first.0,
            base_url: first.1,
            api_key_env: first.2,
            api_key: first.3,
            model: first.4,
            models: first.5,
            headers: first.6,
            api_version: second.0,
            deployment: second.1,
            region: second.2,
            context_window: second.3,
            max_tokens: second.4,
            temperature: third.0,
            images: third.1,
            tools: third.1.map(|sees| !sees),
            send_thoughts: third.2,
            retries: third.3,
            connect: wait,
            first_byte: wait,
            idle: wait,
            retry_wait: wait,
        })
}

/// The table as somebody would write it.
fn written(table: &ProviderTable) -> toml::Table {
    let mut out = toml::Table::new();
    let mut put = |name: &str, value: Option<toml::Value>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    let text = |value: &Option<String>| value.clone().map(toml::Value::from);
    let wait =
        |value: Option<ConfigDuration>| value.map(|wait| format!("{}s", wait.0.as_secs()).into());
    put("kind", Some(table.kind.word().into()));
    put("base_url", text(&table.base_url));
    put("api_key_env", text(&table.api_key_env));
    put("api_key", table.api_key.as_ref().map(|key| key.reveal().into()));
    put("model", text(&table.model));
    put("models", Some(table.models.clone().into()));
    let headers: toml::Table =
        table.headers.iter().map(|(name, value)| (name.clone(), value.reveal().into())).collect();
    put("headers", Some(headers.into()));
    put("api_version", text(&table.api_version));
    put("deployment", text(&table.deployment));
    put("region", text(&table.region));
    put("context_window", table.context_window.map(|n| i64::try_from(n).unwrap().into()));
    put("max_tokens", table.max_tokens.map(|n| i64::from(n).into()));
    put("temperature", table.temperature.map(toml::Value::from));
    put("images", table.images.map(toml::Value::from));
    put("tools", table.tools.map(toml::Value::from));
    put("send_thoughts", table.send_thoughts.map(toml::Value::from));
    put("retries", table.retries.map(|n| i64::from(n).into()));
    for (name, value) in [
        ("connect", table.connect),
        ("first_byte", table.first_byte),
        ("idle", table.idle),
        ("retry_wait", table.retry_wait),
    ] {
        put(name, wait(value));
    }
    out
}

proptest! {
    #[test]
    fn configuration_is_read_as_it_was_written(
        tables in prop::collection::btree_map("[a-z]{1,6}", any_table(), 0..3),
        model in prop::option::of("\\PC{0,12}"),
    ) {
        let providers: toml::Table =
            tables.iter().map(|(name, table)| (name.clone(), written(table).into())).collect();
        let mut file = toml::Table::new();
        file.insert("providers".to_owned(), providers.into());
        if let Some(model) = &model {
            file.insert("model".to_owned(), model.clone().into());
        }
        let text = toml::to_string(&file).unwrap();
        let config: Config = toml::from_str(&text).unwrap();
        prop_assert_eq!(config, Config { model, providers: tables, ..Config::default() });
    }

    #[test]
    fn no_variable_makes_it_panic(
        url in "\\PC{0,30}", key in "\\PC{0,30}", tokens in "\\PC{0,10}", warmth in "\\PC{0,10}",
    ) {
        let _ = resolve("", &[
            ("OPENAI_BASE_URL", &url), ("OPENAI_API_KEY", &key),
            ("OPENAI_MAX_TOKENS", &tokens), ("OPENAI_TEMPERATURE", &warmth),
        ]);
    }

    #[test]
    fn numbers_in_variables_come_out_as_they_are(tokens in 1..=u32::MAX, warmth in 0.0..2.0f64) {
        prop_assert_eq!(lenient::max_tokens(&tokens.to_string()), Some(tokens));
        prop_assert_eq!(lenient::temperature(&warmth.to_string()), Some(warmth));
        prop_assert_eq!(lenient::max_tokens(&format!("-{tokens}")), None);
    }
}
