use super::*;

#[test]
fn every_word_is_an_option_and_every_option_has_a_word() {
    let mut rules = RoomRules::new("shop", 1);
    for setting in RoomRules::SETTINGS {
        for word in setting.words() {
            let value = SettingValue::word(word);
            setting.set(&mut rules, &value).unwrap();
            assert_eq!(setting.get(&rules), value, "{}", setting.name);
        }
        assert!(setting.set(&mut rules, &SettingValue::word("other")).is_err());
    }
    let named = |name| RoomRules::setting(name).unwrap().words().len();
    assert_eq!(named("mode"), RoomMode::ALL.len());
    assert_eq!(named("queueing_method"), QueueingMethod::ALL.len());
    assert_eq!(named("recovery"), Recovery::ALL.len());
    assert_eq!(named("session_renewal"), SessionRenewal::ALL.len());
}

#[test]
fn each_setting_has_its_own_description_and_some_are_for_events() {
    let docs = RoomRules::SETTINGS.iter().map(Setting::doc);
    let different = docs.filter(|doc| doc.len() > 20).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(different.len(), RoomRules::SETTINGS.len());
    let for_events = RoomRules::SETTINGS.iter().filter(|setting| setting.is_for_events());
    assert!(for_events.map(Setting::name).eq([
        "new_users_per_minute",
        "queueing_method",
        "session_duration",
        "session_renewal",
        "total_active_users"
    ]));
}

#[test]
fn settings_are_sorted_by_name_and_defaults_are_possible_values() {
    let names = RoomRules::SETTINGS.iter().map(Setting::name).collect::<Vec<_>>();
    assert!(names.is_sorted(), "{names:?}");
    let default = RoomRules::new("shop", 1);
    for setting in RoomRules::SETTINGS {
        setting.check(&setting.get(&default)).unwrap();
    }
}
