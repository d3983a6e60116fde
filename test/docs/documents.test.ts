import { testDocuments } from './documents.js'

testDocuments(['README.md'])
