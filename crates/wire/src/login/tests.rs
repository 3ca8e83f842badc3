//! Tests of the login as a whole.

use super::*;
use crate::error_code;
use crate::frame::write_message;

const MARIADB_10_11_19: &[u8] =
    b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0K#jmd0]h\0\
    \xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0mysql_native_password\0";
const MYSQL_9_7_4: &[u8] = b"K\0\0\0\x0a9.7.4-2\0\x09\0\0\0S\x12:V>NK\x13\0\xff\xff\xff\x02\0\
    \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\x1cm\x0a\x05\x05v\x19#T<\\]\0caching_sha2_password\0";
const OK_AFTER_TWO: &[u8] = b"\x07\0\0\x02\0\0\0\x02\0\0\0";

fn options(tls: TlsWish) -> LoginOptions {
    LoginOptions {
        user: "cap".to_owned(),
        password: b"secret".to_vec(),
        database: Some("test".to_owned()),
        tls,
        ..LoginOptions::default()
    }
}

fn login(options: LoginOptions) -> Login {
    Login::new(Arc::new(options))
}

/// What a login answers to each of `packets` in turn, and its final state.
fn converse(
    options: LoginOptions,
    packets: &[&[u8]],
) -> (Vec<Vec<u8>>, Result<LoginProgress, WireError>) {
    let (mut login, mut sent) = (login(options), Vec::new());
    let mut progress = Ok(LoginProgress::NeedBytes);
    for packet in packets {
        let mut out = Vec::new();
        progress = login.feed(packet, &mut out).map(|(consumed, progress)| {
            assert_eq!(consumed, packet.len());
            progress
        });
        sent.push(out);
    }
    (sent, progress)
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write_message(&mut out, sequence, |out| out.extend_from_slice(payload));
    out
}

#[test]
fn a_login_at_mariadb_10_11_is_one_packet_and_an_ok() {
    let (sent, progress) = converse(options(TlsWish::IfOffered), &[MARIADB_10_11_19, OK_AFTER_TWO]);
    let mut expected = b"\x5d\0\0\x01\x0d\xa2\x2e\x01\0\0\0\x40\x2d".to_vec();
    expected.extend_from_slice(&[0; 23]);
    expected.extend_from_slice(b"cap\0\x14");
    expected.extend_from_slice(
        b"\xf9\x7e\xa2\x33\x92\x54\x5b\xf3\xe7\x47\x57\x95\x59\xca\xb3\x82\xc5\x83\xaa\xa5",
    );
    expected.extend_from_slice(b"test\0mysql_native_password\0");
    expected[0] = (expected.len() - 4) as u8;
    assert_eq!(sent[0], expected);
    let Ok(LoginProgress::Done(session)) = progress else { panic!("{progress:?}") };
    assert_eq!(session.server_version, "10.11.19-MariaDB-0+deb12u1");
    assert_eq!((session.connection_id, session.status), (5, 2));
    assert!(session.mariadb && !session.encrypted);
    assert!(session.capabilities.contains(Capabilities::DEPRECATE_EOF));
    assert_eq!(session.auth_plugin, "mysql_native_password");
}

#[test]
fn a_server_may_leave_out_definitions_only_if_both_sides_know_how() {
    for (greeting, wanted, agreed) in [
        (MARIADB_10_11_19, true, true),
        (MARIADB_10_11_19, false, false),
        (MYSQL_9_7_4, true, false),
    ] {
        let wish = LoginOptions { cache_metadata: wanted, ..options(TlsWish::Never) };
        let (sent, progress) = converse(wish, &[greeting, OK_AFTER_TWO]);
        let Ok(LoginProgress::Done(session)) = progress else { panic!("{progress:?}") };
        assert_eq!(session.capabilities.contains(Capabilities::CACHE_METADATA), agreed);
        // Capabilities of MariaDB's own are in the last bytes of the filler.
        assert_eq!(sent[0][4] & 1, u8::from(!agreed));
        assert_eq!(sent[0][32..36], [if agreed { 0x10 } else { 0 }, 0, 0, 0]);
    }
}

#[test]
fn the_bytes_may_come_in_any_pieces() {
    for cut in 0..MARIADB_10_11_19.len() {
        let (mut login, mut out) = (login(options(TlsWish::Never)), Vec::new());
        let (first, second) = MARIADB_10_11_19.split_at(cut);
        let started = login.feed(first, &mut out);
        assert_eq!(started, Ok((cut, LoginProgress::NeedBytes)));
        assert!(out.is_empty());
        login.feed(second, &mut out).unwrap();
        assert!(!out.is_empty());
    }
}

#[test]
fn bytes_behind_the_verdict_are_left_to_the_caller() {
    let (mut login, mut out) = (login(options(TlsWish::Never)), Vec::new());
    login.feed(MARIADB_10_11_19, &mut out).unwrap();
    let (consumed, progress) = login.feed(&[OK_AFTER_TWO, b"more"].concat(), &mut out).unwrap();
    assert_eq!(consumed, OK_AFTER_TWO.len());
    assert!(matches!(progress, LoginProgress::Done(_)));
    assert_eq!(login.feed(b"x", &mut out), Err(WireError::OutOfTurn { call: "feed" }));
}

#[test]
fn tls_is_begun_by_the_head_of_the_login_packet() {
    let (mut login, mut out) = (login(options(TlsWish::Must)), Vec::new());
    let started = login.feed(MYSQL_9_7_4, &mut out);
    assert_eq!(started, Ok((MYSQL_9_7_4.len(), LoginProgress::StartTls)));
    let mut expected = b"\x20\0\0\x01\x0d\xaa\x2e\x01\0\0\0\x40\x2d".to_vec();
    expected.extend_from_slice(&[0; 23]);
    assert_eq!(out, expected);
    out.clear();
    login.tls_established(&mut out).unwrap();
    assert_eq!(out[3], 2, "the login packet is numbered on from the request");
    assert_eq!(out[4..36], expected[4..36], "and has the same head");
    assert!(login.tls_established(&mut out).is_err());
}

#[test]
fn bytes_before_the_handshake_are_refused() {
    let (mut all_at_once, mut out) = (login(options(TlsWish::Must)), Vec::new());
    let early = [MYSQL_9_7_4, b"x"].concat();
    assert_eq!(all_at_once.feed(&early, &mut out), Err(WireError::EarlyBytes));
    assert!(out.is_empty());
    let mut in_two = login(options(TlsWish::IfOffered));
    in_two.feed(MYSQL_9_7_4, &mut out).unwrap();
    assert_eq!(in_two.feed(b"x", &mut out), Err(WireError::EarlyBytes));
    assert!(in_two.tls_established(&mut out).is_err(), "a refused login stays refused");
}

#[test]
fn tls_that_must_be_and_is_not_offered_sends_nothing() {
    let (sent, progress) = converse(options(TlsWish::Must), &[MARIADB_10_11_19]);
    assert_eq!(progress, Err(WireError::TlsNotOffered));
    assert!(sent[0].is_empty());
}

#[test]
fn a_switch_and_a_cold_cache_lead_to_the_password_where_nobody_reads_along() {
    let switch =
        packet(2, b"\xfecaching_sha2_password\0S\x12:V>NK\x13\x1cm\x0a\x05\x05v\x19#T<\\]\0");
    let full = packet(4, b"\x01\x04");
    let ok = packet(6, b"\0\0\0\x02\0\0\0");
    let packets = [MARIADB_10_11_19, &switch, &full, &ok];
    let secure = LoginOptions { transport_secure: true, ..options(TlsWish::Never) };
    let (sent, progress) = converse(secure, &packets);
    assert_eq!(sent[1][..4], [32, 0, 0, 3]);
    assert_eq!(sent[2], b"\x07\0\0\x05secret\0");
    let Ok(LoginProgress::Done(session)) = progress else { panic!("{progress:?}") };
    assert_eq!(session.auth_plugin, "caching_sha2_password");

    let (_, refused) = converse(options(TlsWish::Never), &packets[..3]);
    let needed = WireError::PublicKeyNeeded { plugin: "caching_sha2_password" };
    assert_eq!(refused, Err(needed));
}

/// What is sent within TLS to a server that asks for the password in `switch` and what follows it.
fn within_tls(options: LoginOptions, packets: &[Vec<u8>]) -> (Vec<u8>, Option<WireError>) {
    let (mut login, mut out) = (login(LoginOptions { tls: TlsWish::Must, ..options }), Vec::new());
    assert!(matches!(login.feed(MYSQL_9_7_4, &mut out), Ok((_, LoginProgress::StartTls))));
    login.tls_established(&mut out).unwrap();
    let refused = packets.iter().find_map(|packet| login.feed(packet, &mut out).err());
    (out, refused)
}

#[test]
fn a_server_that_proves_nothing_gets_no_password_within_tls() {
    let nonce = b"S\x12:V>NK\x13\x1cm\x0a\x05\x05v\x19#T<\\]\0";
    let asks: [(&str, Vec<Vec<u8>>); 3] = [
        ("mysql_clear_password", vec![packet(3, b"\xfemysql_clear_password\0")]),
        ("caching_sha2_password", vec![packet(3, b"\x01\x04")]),
        ("sha256_password", vec![packet(3, &[b"\xfesha256_password\0", &nonce[..]].concat())]),
    ];
    let has = |sent: &[u8]| sent.windows(6).any(|part| part == b"secret");
    for (plugin, packets) in asks {
        let with = |change: fn(&mut LoginOptions)| {
            let mut options = options(TlsWish::Must);
            change(&mut options);
            within_tls(options, &packets)
        };
        let (sent, refused) = with(|_| ());
        let why = "nothing proves whose certificate this is";
        assert_eq!(refused, Some(WireError::PasswordWithheld { plugin, why }));
        assert!(!has(&sent));
        for change in [
            |options: &mut LoginOptions| options.server_proven = true,
            |options: &mut LoginOptions| options.allow_clear_password = true,
            |options: &mut LoginOptions| options.transport_secure = true,
        ] {
            let (sent, refused) = with(change);
            assert!(refused.is_none() && has(&sent), "{plugin}: {refused:?}");
        }
        // If the server's own key would be accepted from the other end, no further proof is needed:
        // but not in plaintext.
        let (sent, refused) = with(|options| options.allow_public_key_retrieval = true);
        assert_eq!(
            (refused.is_some(), has(&sent)),
            match plugin {
                "mysql_clear_password" => (true, false),
                _ => (false, true),
            }
        );
    }
}

#[test]
fn methods_that_are_not_known_are_named() {
    let cases: [(&[u8], &str); 3] = [
        (b"\xfe", "mysql_old_password"),
        (b"\xfedialog\0\x04Password: ", "dialog"),
        (
            b"\x02authentication_webauthn_client\0",
            "authentication_webauthn_client as a further factor",
        ),
    ];
    for (payload, plugin) in cases {
        let switch = packet(2, payload);
        let (_, progress) = converse(options(TlsWish::Never), &[MARIADB_10_11_19, &switch]);
        let plugin = plugin.to_owned();
        assert_eq!(progress, Err(WireError::AuthNotSupported { plugin }));
    }
}

/// With the byte before data that other plugins have, and without it.
#[test]
fn parsec_asks_for_the_salt_and_signs() {
    let switch = packet(2, &[b"\xfeparsec\0", &[7; 32][..]].concat());
    for salt in [&b"P\0salt"[..], b"\x01P\0salt"] {
        let (sent, progress) =
            converse(options(TlsWish::Never), &[MARIADB_10_11_19, &switch, &packet(4, salt)]);
        assert_eq!(progress, Ok(LoginProgress::NeedBytes));
        assert_eq!(sent[1], [0, 0, 0, 3]);
        assert_eq!((&sent[2][..4], sent[2].len()), (&[96, 0, 0, 5][..], 100));
    }
    // Another plugin's data never starts so.
    let bare = packet(2, b"P\0salt");
    let (_, progress) = converse(options(TlsWish::Never), &[MARIADB_10_11_19, &bare]);
    assert!(matches!(progress, Err(WireError::UnexpectedPacket { first_byte: b'P', .. })));
}

#[test]
fn a_refused_login_is_the_servers_error() {
    // mariadbd 10.11.19, a wrong password.
    let denied =
        b"\xff\x15\x04#28000Access denied for user 'cap'@'localhost' (using password: YES)";
    let denied = packet(2, denied);
    let (_, progress) = converse(options(TlsWish::Never), &[MARIADB_10_11_19, &denied]);
    let Err(WireError::Server(error)) = progress else { panic!("{progress:?}") };
    assert_eq!((error.code, error.sql_state_text()), (error_code(1045), "28000"));
}

#[test]
fn a_lost_or_huge_packet_is_noticed() {
    let lost = packet(3, b"\0\0\0\x02\0\0\0");
    let (_, progress) = converse(options(TlsWish::Never), &[MARIADB_10_11_19, &lost]);
    assert_eq!(progress, Err(WireError::OutOfSequence { expected: 2, got: 3 }));
    let mut fresh = login(options(TlsWish::Never));
    let huge = fresh.feed(b"\x01\0\x10\0", &mut Vec::new());
    assert!(matches!(huge, Err(WireError::TooLarge { .. })));
}

#[test]
fn a_nul_in_a_name_is_refused() {
    let tricky = LoginOptions { user: "root\0x".to_owned(), ..options(TlsWish::Never) };
    let (_, progress) = converse(tricky, &[MARIADB_10_11_19]);
    assert_eq!(progress, Err(WireError::NulByte { field: "user" }));
}

#[test]
fn a_server_that_never_decides_is_given_up() {
    let (mut login, mut out) = (login(options(TlsWish::Never)), Vec::new());
    login.feed(MARIADB_10_11_19, &mut out).unwrap();
    let again = b"\xfemysql_native_password\x0012345678901234567890\0";
    for round in 0..10 {
        assert!(login.feed(&packet(2 + 2 * round, again), &mut out).is_ok());
    }
    let given_up = login.feed(&packet(22, again), &mut out);
    assert_eq!(given_up.map(drop), Err(WireError::EndlessLogin { packets: 10 }));
}
