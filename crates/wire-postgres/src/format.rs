//! The two formats of a value, and the numbers of the types whose binary form is known here.

/// How values are sent: as text, or as the server holds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Text, whatever the type. This is what clients usually send and ask for.
    #[default]
    Text,
    /// Numbers in network order, whose width the type decides.
    Binary,
}

impl Format {
    /// Int16
    pub(crate) fn code(self) -> u16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

/// Numbers of types: `pg_type.oid` of those that every server has.
pub mod oid {
    /// Left to the server.
    pub const UNSPECIFIED: u32 = 0;
    /// `boolean`
    pub const BOOL: u32 = 16;
    /// `bytea`
    pub const BYTEA: u32 = 17;
    /// `bigint`
    pub const INT8: u32 = 20;
    /// `smallint`
    pub const INT2: u32 = 21;
    /// `integer`
    pub const INT4: u32 = 23;
    /// `text`
    pub const TEXT: u32 = 25;
    /// `oid`
    pub const OID: u32 = 26;
    /// `real`
    pub const FLOAT4: u32 = 700;
    /// `double precision`
    pub const FLOAT8: u32 = 701;
    /// `character varying`
    pub const VARCHAR: u32 = 1043;
    /// `date`
    pub const DATE: u32 = 1082;
    /// `time`
    pub const TIME: u32 = 1083;
    /// `timestamp`
    pub const TIMESTAMP: u32 = 1114;
    /// `timestamp with time zone`
    pub const TIMESTAMPTZ: u32 = 1184;
}
