export { classifyAddress, type AddressClass } from './address.ts';
export { createDnsResolver, createSystemResolver, type Resolve } from './resolver.ts';
