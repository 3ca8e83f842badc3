//! The same packets, written or read by mysql_common: two implementations that agree are seldom
//! both wrong.

use std::collections::HashMap;
use std::sync::Arc;

use loadstone_wire::{
    Capabilities, Expect, Login, LoginOptions, Param, Reply, ReplyReader, TlsWish, write_execute,
};
use mysql_common::Value;
use mysql_common::auth::plugins::caching_sha2_password::scramble_sha256;
use mysql_common::auth::plugins::client_ed25519::ClientEd25519;
use mysql_common::auth::plugins::mysql_native_password::scramble_native;
use mysql_common::auth::plugins::{ChallengeResponsePlugin, Context};
use mysql_common::constants::{CapabilityFlags, StatusFlags};
use mysql_common::io::ParseBuf;
use mysql_common::packets::{
    ComStmtExecuteRequestBuilder, CommonOkPacket, HandshakePacket, HandshakeResponse,
    OkPacketDeserializer,
};
use mysql_common::proto::MySerialize;
use proptest::collection::vec;
use proptest::prelude::*;

const GREETING_MARIADB_10_11_19: &[u8] = b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x05\0\0\0\
    K#jmd0]h\0\xfe\xf7\x08\x02\0\xff\x81\x15\0\0\0\0\0\0\x1d\0\0\0ow)c:5=o:pHW\0\
    mysql_native_password\0";
const GREETING_MYSQL_9_7_4: &[u8] =
    b"K\0\0\0\x0a9.7.4-2\0\x09\0\0\0S\x12:V>NK\x13\0\xff\xff\xff\x02\0\
    \xff\xdf\x15\0\0\0\0\0\0\0\0\0\0\x1cm\x0a\x05\x05v\x19#T<\\]\0caching_sha2_password\0";

/// The login packet that answers `greeting`, without its header.
fn login_packet(greeting: &[u8], options: LoginOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let progress = Login::new(Arc::new(options)).feed(greeting, &mut out);
    assert!(progress.is_ok());
    out.split_off(4)
}

struct Password<'a>(&'a [u8]);

impl Context for Password<'_> {
    fn pass(&self) -> &[u8] {
        self.0
    }
    fn is_ipc_transport(&self) -> bool {
        false
    }
    fn is_tls_transport(&self) -> bool {
        false
    }
    fn scramble(&self) -> &[u8] {
        &[]
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

fn owned(param: &Param<'_>) -> Value {
    match *param {
        Param::Null => Value::NULL,
        Param::Int(value) => Value::Int(value),
        Param::Double(value) => Value::Double(value),
        Param::Text(value) => Value::Bytes(value.to_vec()),
    }
}

/// A parameter before its text is borrowed.
#[derive(Clone, Debug)]
enum Drawn {
    Null,
    Int(i64),
    Double(f64),
    Text(Vec<u8>),
}

impl Drawn {
    fn param(&self) -> Param<'_> {
        match self {
            Drawn::Null => Param::Null,
            Drawn::Int(value) => Param::Int(*value),
            Drawn::Double(value) => Param::Double(*value),
            Drawn::Text(value) => Param::Text(value),
        }
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        Just(Drawn::Null),
        any::<i64>().prop_map(Drawn::Int),
        any::<f64>().prop_map(Drawn::Double),
        vec(any::<u8>(), 0..400).prop_map(Drawn::Text),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_login_packet_says_what_was_asked(
        user in "[a-z]{0,12}",
        password in vec(any::<u8>(), 0..40),
        database in proptest::option::of("[a-z]{1,12}"),
        attributes in proptest::collection::hash_map("[a-z]{1,40}", "[a-z]{0,200}", 0..5),
        at_mariadb in any::<bool>(),
        local_infile in any::<bool>(),
        multi_statements in any::<bool>(),
    ) {
        let greeting = if at_mariadb { GREETING_MARIADB_10_11_19 } else { GREETING_MYSQL_9_7_4 };
        let options = LoginOptions {
            user: user.clone(),
            password: password.clone(),
            database: database.clone(),
            tls: TlsWish::Never,
            local_infile,
            multi_statements,
            attributes: attributes.clone().into_iter().collect(),
            ..LoginOptions::default()
        };
        let packet = login_packet(greeting, options);
        let theirs: HandshakePacket<'_> = ParseBuf(&greeting[4..]).parse(()).unwrap();
        let ours: HandshakeResponse<'_> = ParseBuf(&packet).parse(()).unwrap();

        let nonce: [u8; 20] = theirs.nonce().try_into().unwrap();
        let answer = match at_mariadb {
            true => scramble_native(&nonce, &password).map(|answer| answer.to_vec()),
            false => scramble_sha256(&nonce, &password).map(|answer| answer.to_vec()),
        };
        prop_assert_eq!(ours.scramble_buf(), answer.unwrap_or_default());
        prop_assert_eq!(ours.user(), user.as_bytes());
        prop_assert_eq!(ours.db_name(), database.as_deref().map(str::as_bytes));
        prop_assert_eq!(ours.collation(), LoginOptions::UTF8MB4_GENERAL_CI);
        let offered = theirs.auth_plugin();
        prop_assert_eq!(ours.auth_plugin(), offered.as_ref());
        let said: HashMap<String, String> = ours.connect_attributes().unwrap_or_default();
        prop_assert_eq!(said, attributes);
        let flags = ours.capabilities();
        prop_assert_eq!(flags.contains(CapabilityFlags::CLIENT_LOCAL_FILES), local_infile);
        prop_assert!(flags.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF));
        prop_assert_eq!(flags.contains(CapabilityFlags::CLIENT_MULTI_STATEMENTS), multi_statements);
        prop_assert!(!flags.contains(CapabilityFlags::CLIENT_SESSION_TRACK));
        prop_assert!(!flags.contains(CapabilityFlags::CLIENT_SSL));
    }

    #[test]
    fn the_ed25519_signature_is_the_same(
        password in vec(any::<u8>(), 1..40),
        nonce in any::<[u8; 32]>(),
    ) {
        let options = LoginOptions {
            password: password.clone(),
            tls: TlsWish::Never,
            ..LoginOptions::default()
        };
        let mut login = Login::new(Arc::new(options));
        let mut out = Vec::new();
        login.feed(GREETING_MARIADB_10_11_19, &mut out).unwrap();
        out.clear();
        let mut switch = b"\x30\0\0\x02\xfeclient_ed25519\0".to_vec();
        switch.extend_from_slice(&nonce);
        login.feed(&switch, &mut out).unwrap();
        let theirs = ClientEd25519::default().run(Password(&password), &nonce).unwrap();
        prop_assert_eq!(Some(&out[4..]), theirs.data());
    }

    #[test]
    fn an_execution_is_the_same(
        statement_id in any::<u32>(),
        drawn in vec(drawn(), 1..40),
    ) {
        let params: Vec<Param<'_>> = drawn.iter().map(Drawn::param).collect();
        let values: Vec<Value> = params.iter().map(owned).collect();
        let (theirs, _) = ComStmtExecuteRequestBuilder::new(statement_id).build(&values);
        let mut expected = Vec::new();
        theirs.serialize(&mut expected);
        let mut out = Vec::new();
        write_execute(&mut out, statement_id, params.iter().copied(), true);
        prop_assert_eq!(&out[4..], expected);
    }

    #[test]
    fn an_ok_is_read_the_same(
        affected_rows in 0..0x100_0000_u64,
        last_insert_id in any::<u64>(),
        status in any::<u16>(),
        warnings in any::<u16>(),
    ) {
        // mysql_common refuses flags that it does not know.
        let known = StatusFlags::all().bits() & !loadstone_wire::status::MORE_RESULTS_EXISTS;
        let status = status & known;
        let mut payload = vec![0, 0xfe];
        payload.extend_from_slice(&affected_rows.to_le_bytes());
        payload.push(0xfe);
        payload.extend_from_slice(&last_insert_id.to_le_bytes());
        payload.extend_from_slice(&status.to_le_bytes());
        payload.extend_from_slice(&warnings.to_le_bytes());
        let theirs = ParseBuf(&payload)
            .parse::<OkPacketDeserializer<'_, CommonOkPacket>>(CapabilityFlags::empty())
            .unwrap()
            .into_inner();
        let mut reader = ReplyReader::new(Capabilities::DEPRECATE_EOF);
        reader.expect(Expect::Query);
        let packet = [&[payload.len() as u8, 0, 0, 1], &payload[..]].concat();
        let Ok((_, Some(Reply::Done(ours)))) = reader.feed(&packet) else {
            return Err(TestCaseError::fail("no reply"));
        };
        prop_assert_eq!(ours.affected_rows, theirs.affected_rows());
        prop_assert_eq!(ours.last_insert_id, theirs.last_insert_id().unwrap_or(0));
        prop_assert_eq!(ours.warnings, theirs.warnings());
        prop_assert_eq!(ours.status, theirs.status_flags().bits());
    }
}
