//! The schemas of configuration files and of rules files agree with the parser, and the tables in
//! both pages of docs match the schemas. With `WRITE_DOCS` set, the tests write what follows from
//! the declarations.

use std::{collections::BTreeSet, fmt::Write, fs, path::Path};

use serde_json::{Value, json};
use waiting_room_core::room::{Setting, SettingValue};
use waiting_room_doubles::assert_documented;

use super::*;

/// The names of the tables of a file, each with a file in which `$` stands for the table.
const TABLES: [(&str, &str); 14] = [
    ("", "$"),
    ("adaptive", r#"{ "concurrency": [{ "adaptive": $ }] }"#),
    ("adaptive_rules", r#"{ "concurrency": [{ "adaptive": { "vegas": $ } }] }"#),
    ("bypass", r#"{ "bypass": [$] }"#),
    ("client_ip", r#"{ "client_ip": $ }"#),
    ("cookie", r#"{ "cookie": $ }"#),
    ("descriptor", r#"{ "rate_limits": [$] }"#),
    ("discipline", r#"{ "concurrency": [{ "limit": 8, "discipline": $ }] }"#),
    ("event", r#"{ "events": [$] }"#),
    ("gate", r#"{ "concurrency": [$] }"#),
    ("page", r#"{ "page": $ }"#),
    ("push", r#"{ "push": $ }"#),
    ("rate_limit", r#"{ "rate_limits": [{ "key": "everyone", "rate_limit": $ }] }"#),
    ("status", r#"{ "status": $ }"#),
];

fn docs(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
}

fn schema(file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(docs(file)).unwrap()).unwrap()
}

/// Returns the schema of a table.
fn table<'a>(schema: &'a Value, name: &str) -> &'a Value {
    if name.is_empty() { schema } else { &schema["$defs"][name] }
}

/// Returns a file with this table.
fn file(within: &str, table: &Value) -> Value {
    let mut file: Value = serde_json::from_str(&within.replace('$', &table.to_string())).unwrap();
    if within != "$" {
        file["name"] = json!("shop");
        file["total_active_users"] = json!(200);
    }
    file
}

fn parsed(file: &Value) -> Result<WaitingRoomConfig, serde_json::Error> {
    serde_json::from_value(file.clone())
}

/// Returns copies of a value with one mistake each: a value of another type, and an unknown field.
fn mistakes(value: &Value) -> Vec<Value> {
    let within = |at: &str| {
        let of_part = mistakes(value.pointer(at).unwrap()).into_iter().map(move |wrong| {
            let mut copy = value.clone();
            *copy.pointer_mut(at).unwrap() = wrong;
            copy
        });
        of_part.collect::<Vec<_>>()
    };
    let mut found = match value {
        Value::Object(fields) => fields.keys().flat_map(|key| within(&format!("/{key}"))).collect(),
        Value::Array(items) if !items.is_empty() => within("/0"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Vec::new()
        }
    };
    let mut unknown = value.as_object().cloned().unwrap_or_default();
    unknown.insert("?".to_owned(), json!(0));
    found.push(unknown.into());
    found
}

/// Returns values that are beyond the bounds of a property, or not among its words.
fn out_of_bounds(property: &Value) -> Vec<Value> {
    let forms = property["anyOf"].as_array().cloned().unwrap_or_default();
    let mut found: Vec<_> =
        forms.iter().filter(|form| form["minimum"] == 0).map(|_| json!(-1)).collect();
    found.extend(property["maximum"].as_u64().map(|most| json!(most + 1)));
    found.extend(property["minimum"].as_i64().map(|least| json!(least - 1)));
    found.extend(property["enum"].as_array().map(|_| json!("?")));
    found
}

#[test]
fn the_schema_and_the_parser_read_the_same_files() {
    let schema = schema("configuration-file.schema.json");
    let valid = jsonschema::validator_for(&schema).unwrap();
    for (name, within) in TABLES {
        let table = table(&schema, name);
        let properties = table["properties"].as_object().unwrap();
        let mut seen = BTreeSet::new();
        for example in table["examples"].as_array().unwrap() {
            let whole = file(within, example);
            assert!(parsed(&whole).is_ok(), "{whole}: {:?}", parsed(&whole).err());
            assert!(valid.is_valid(&whole), "{whole}: {:?}", valid.validate(&whole).err());
            let mut wrong = mistakes(example);
            for (field, _) in example.as_object().unwrap() {
                seen.insert(field);
                wrong.extend(out_of_bounds(&properties[field]).into_iter().map(|value| {
                    let mut copy = example.clone();
                    copy[field] = value;
                    copy
                }));
            }
            for wrong in wrong {
                let whole = file(within, &wrong);
                assert!(parsed(&whole).is_err(), "the parser accepts {whole}");
                assert!(!valid.is_valid(&whole), "the schema accepts {whole}");
            }
        }
        // The examples may lack `rate_limits_file`, whose file must exist, and settings of the room.
        let fields = properties.keys().filter(|field| *field != "rate_limits_file");
        let fields = fields.filter(|field| RoomRules::setting(field).is_none());
        assert!(seen.is_superset(&fields.collect()), "the examples of {name:?} have every field");
    }
}

#[test]
fn the_schema_has_the_fields_and_defaults_of_the_parser() {
    let schema = schema("configuration-file.schema.json");
    for (name, within) in TABLES {
        let table = table(&schema, name);
        let properties = table["properties"].as_object().unwrap();
        let examples = table["examples"].as_array().unwrap();
        // A table with a single field is an enum of the parser.
        let mut unknown = if table["maxProperties"] == 1 { json!({}) } else { examples[0].clone() };
        unknown["?"] = json!({});
        let error = parsed(&file(within, &unknown)).unwrap_err().to_string();
        // The reader of events knows all settings, of which an event can override a few.
        let known = expected(&error).filter(|word| {
            let setting = RoomRules::setting(word).filter(|_| name == "event");
            setting.is_none_or(Setting::is_for_events)
        });
        let known: BTreeSet<_> = known.collect();
        if name != "bypass" {
            assert_eq!(known, properties.keys().map(|field| &**field).collect(), "{error}");
        }
        for (field, property) in properties {
            let words = property["enum"].as_array().filter(|words| words[0].is_string());
            if let Some(words) = words {
                let example = examples.iter().find(|example| example.get(field).is_some()).unwrap();
                let mut wrong = example.clone();
                wrong[field] = json!("?");
                let error = parsed(&file(within, &wrong)).unwrap_err().to_string();
                let words: BTreeSet<_> = words.iter().map(|word| word.as_str().unwrap()).collect();
                assert_eq!(expected(&error).collect::<BTreeSet<_>>(), words, "{error}");
            }
            for bound in ["minimum", "maximum"].iter().filter_map(|name| property.get(name)) {
                let is_valid = |table: &Value| {
                    let mut given = table.clone();
                    given[field] = bound.clone();
                    parsed(&file(within, &given)).is_ok()
                };
                // A bound that depends on other fields is valid in at least one example.
                let is_valid = examples.iter().chain([&json!({})]).any(is_valid);
                assert!(is_valid, "the parser refuses {name}.{field}: {bound}");
            }
            let Some(default) = property.get("default") else { continue };
            let is_same = examples.iter().filter_map(|example| {
                let mut absent = example.clone();
                absent.as_object_mut().unwrap().remove(field);
                let mut given = example.clone();
                given[field] = default.clone();
                let [absent, given] =
                    [absent, given].map(|table| parsed(&file(within, &table)).ok());
                Some(format!("{:?}", absent?) == format!("{:?}", given?))
            });
            let is_same: Vec<_> = is_same.collect();
            assert!(
                is_same.contains(&true) && !is_same.contains(&false),
                "{name}.{field}: {default}"
            );
        }
    }
}

/// Returns the names that an error expects.
fn expected(error: &str) -> impl Iterator<Item = &str> {
    let (_, known) = error.split_once(", expected ").unwrap_or_default();
    let words = known.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !["one", "of", "or", ""].contains(word))
}

/// Returns the schema of one of the room's settings.
fn of_setting(setting: &Setting) -> Value {
    let expected = setting.wrong("").expected().to_owned();
    let numbers =
        expected.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
    let bounds: Vec<u32> = numbers.collect();
    let number = || json!({ "type": "integer", "minimum": bounds[0], "maximum": bounds[1] });
    let mut forms = Vec::new();
    if setting.is_duration() {
        forms.push(json!({ "$ref": "#/$defs/duration" }));
    } else if !bounds.is_empty() {
        forms.push(number());
    }
    if setting.has_shadow() {
        forms
            .push(json!({ "type": "object", "additionalProperties": false, "required": ["shadow"],
                           "properties": { "shadow": number() } }));
    }
    if !setting.words().is_empty() {
        forms.push(json!({ "enum": setting.words() }));
    }
    let mut schema = if forms.len() == 1 { forms.remove(0) } else { json!({ "anyOf": forms }) };
    schema["description"] = json!(setting.doc());
    if setting.name() != "total_active_users" {
        schema["default"] = match setting.get(&RoomRules::new("shop", 1)) {
            SettingValue::Duration(time) => json!(format!("{}s", time.as_secs())),
            SettingValue::Word(word) => json!(word),
            SettingValue::Count(number) | SettingValue::Shadow(number) => json!(number),
        };
    }
    schema
}

/// Checks that both schemas have the settings as they are declared, and the same descriptors.
fn assert_schemas() {
    let mut config = schema("configuration-file.schema.json");
    for setting in RoomRules::SETTINGS {
        let name = setting.name();
        config["properties"][name] = of_setting(setting);
        if setting.is_for_events() {
            let of_event = json!({ "$ref": format!("#/properties/{name}") });
            config["$defs"]["event"]["properties"][name] = of_event;
        }
    }
    let of_rules = ["descriptor", "duration", "rate_limit", "value"];
    let defs = of_rules.map(|name| (name.to_owned(), config["$defs"][name].clone()));
    let rules = json!({
        "$schema": config["$schema"], "title": "A rules file of tower-waiting-room",
        "type": "object", "additionalProperties": false, "required": ["domain", "descriptors"],
        "properties": { "domain": { "type": "string" }, "descriptors": config["properties"]["rate_limits"] },
        "$defs": Value::Object(defs.into_iter().collect()),
    });
    for (name, schema) in [("configuration-file", config), ("rules-file", rules)] {
        let file = docs(&format!("{name}.schema.json"));
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("WRITE_DOCS").is_some() {
            fs::write(&file, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&file).unwrap() == text,
            "WRITE_DOCS=1 writes {}",
            file.display()
        );
    }
}

/// Returns the values of a property in a few words.
fn values(property: &Value) -> String {
    let bound = |name: &str| property[name].as_u64();
    let join = |forms: &Value, shown: fn(&Value) -> String, by: &str| {
        forms.as_array().unwrap().iter().map(shown).collect::<Vec<_>>().join(by)
    };
    let word = |word: &Value| format!("`{}`", word.to_string().trim_matches('"'));
    if let Some(name) = property["$ref"].as_str() {
        let name = name.rsplit('/').next().unwrap();
        return if ["digest", "duration", "key", "path", "time", "value"].contains(&name) {
            name
        } else {
            "table"
        }
        .to_owned();
    }
    match (&property["anyOf"], &property["enum"], property.get("const")) {
        (forms @ Value::Array(_), ..) => join(forms, values, " or "),
        (_, words @ Value::Array(_), _) => join(words, word, ", "),
        (.., Some(value)) => word(value),
        _ => match (property["type"].as_str(), bound("minimum"), bound("maximum")) {
            (Some("array"), ..) => "list".to_owned(),
            (Some("boolean"), ..) => "`true`, `false`".to_owned(),
            (Some("object"), ..) => "table".to_owned(),
            (_, Some(least), Some(most)) => format!("{least} to {most}"),
            (_, Some(least), None) => format!("from {least}"),
            _ => "string".to_owned(),
        },
    }
}

#[test]
fn the_schemas_and_the_pages_have_the_declared_settings() {
    assert_schemas();
    let schema = schema("configuration-file.schema.json");
    for (name, _) in TABLES {
        let mut rows = "|field|values|default|meaning|\n|-|-|-|-|\n".to_owned();
        let table = table(&schema, name);
        for (field, property) in table["properties"].as_object().unwrap() {
            let (Some(meaning), None) =
                (property["description"].as_str(), RoomRules::setting(field))
            else {
                continue;
            };
            let default = property
                .get("default")
                .filter(|default| !["[]", "{}"].contains(&&*default.to_string()));
            let default = default.map_or(String::new(), |default| {
                format!("`{}`", default.to_string().trim_matches('"'))
            });
            let is_required =
                table["required"].as_array().is_some_and(|names| names.contains(&json!(field)));
            let default = if is_required { "required".to_owned() } else { default };
            writeln!(rows, "|`{field}`|{}|{default}|{meaning}|", values(property)).unwrap();
        }
        match name {
            "" => assert_documented("configuration-file.md", "fields", &rows),
            "descriptor" | "rate_limit" => {
                assert_documented("rules-file.md", name, &rows.replace("rules-file.md", ""))
            }
            _ => assert_documented("configuration-file.md", name, &rows),
        }
    }
    let mut rows = "|setting|values|default|event|meaning|\n|-|-|-|-|-|\n".to_owned();
    for setting in RoomRules::SETTINGS {
        let values = setting.wrong("").expected().replace("a number from ", "");
        let values = values.replace("a duration such as \"1m 30s\", from ", "");
        let default = setting.get(&RoomRules::new("shop", 1));
        let default = if setting.name() == "total_active_users" {
            String::new()
        } else {
            default.to_string()
        };
        let event = if setting.is_for_events() { "yes" } else { "" };
        writeln!(rows, "|`{}`|{values}|{default}|{event}|{}|", setting.name(), setting.doc())
            .unwrap();
    }
    assert_documented("configuration-file.md", "settings", &rows);
}

/// Returns the first block of a page in this language that contains a text.
fn block(page: &str, language: &str, containing: &str) -> String {
    let page = fs::read_to_string(docs(page)).unwrap();
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    let mut blocks = blocks.map(|rest| rest.split("```").next().unwrap());
    blocks.find(|block| block.contains(containing)).unwrap().to_owned()
}

#[test]
fn the_examples_of_the_pages_are_valid() {
    let example = block("configuration-file.md", "toml", "name =");
    let config: WaitingRoomConfig = toml::from_str(&example).unwrap();
    assert_eq!(config.room().unwrap().total_active_users, 200);
    let rules = block("rules-file.md", "toml", "domain =");
    for (name, text) in [("configuration-file", example), ("rules-file", rules)] {
        let valid = jsonschema::validator_for(&schema(&format!("{name}.schema.json"))).unwrap();
        let file: Value = toml::from_str(&text).unwrap();
        assert_eq!(valid.validate(&file).map_err(|error| error.to_string()), Ok(()));
        assert!(!mistakes(&file).iter().any(|file| valid.is_valid(file)));
    }
}
